"""A name with a qualifier behind it is spoken of without."""

from __future__ import annotations

import pytest

from tests.fixtures.spaces import Space


@pytest.mark.parametrize("name", ["Hello Love (song)", "Hello Love（song）"])
async def test_a_title_with_a_qualifier_is_found_by_its_bare_name(space: Space, name: str) -> None:
    song = await space.remember("A single by Hank Snow, released in 1974", entities=[{"name": name, "role": "subject"}])
    chart = await space.remember("In the charts of that year Hello Love stood first")
    assert (await space.neighbours(chart.id, "entity_link"))[song.id] == 1
    assert "hello love" in {shown.lower() for shown in await space.entities(chart.id)}


async def test_a_name_that_is_all_qualifier_stays_as_it_is(space: Space) -> None:
    odd = await space.remember("An odd title", entities=["(untitled)"])
    assert len((await space.get(odd.id)).entities) <= 1


async def test_two_things_of_one_name_share_it(space: Space) -> None:
    first = await space.remember("Directed in 1931", entities=[{"name": "Dracula (1931 film)", "role": "subject"}])
    second = await space.remember("Directed in 1992", entities=[{"name": "Dracula (1992 film)", "role": "subject"}])
    review = await space.remember("I saw Dracula again")
    links = await space.neighbours(review.id, "entity_link")
    assert links[first.id] == links[second.id] == 1


@pytest.mark.parametrize("code", ["main()", "print(x)", "Stripe()"])
async def test_a_call_is_no_qualified_name(space: Space, code: str) -> None:
    start = await space.remember("Where the program starts", entities=[code])
    assert [name.casefold() for name in await space.entities(start.id)] == [code.casefold()]
