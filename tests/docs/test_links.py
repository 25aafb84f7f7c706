"""Links between the pages lead somewhere."""

from __future__ import annotations

import pytest

from tests.docs.pages import Page, all_pages


@pytest.mark.parametrize("page", all_pages(), ids=str)
def test_relative_links_lead_to_a_file_and_a_heading_in_it(page: Page) -> None:
    broken = []
    for link in page.links():
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = Page((page.path.parent / name).resolve() if name else page.path)
        if not target.path.exists() or (anchor and anchor not in target.anchors()):
            broken.append(link)
    assert broken == []


def test_the_index_names_every_page_of_its_folder() -> None:
    index = next(page for page in all_pages() if str(page) == "docs/README.md")
    pages = {page.path.name for page in all_pages() if page.path.parent == index.path.parent} - {"README.md"}
    assert pages <= set(index.links())
