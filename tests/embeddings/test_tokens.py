from __future__ import annotations

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from engram.embeddings.tokens import counter_of, estimated_tokens

PROSE = (
    "Memories are nodes of a graph whose typed edges carry decay multipliers. A recall blends how similar a "
    "memory is to the query with how strongly it is connected to what the query found."
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Counted with cl100k_base, the vocabulary of OpenAI's embedding models.
        (PROSE, 38),
        ("外币汇率换算工具", 10),
        ("Quelle heure est-il à Paris ? Je voudrais réserver une table pour deux personnes ce soir.", 22),
        ("Сегодня хорошая погода, и мы идём гулять в парк.", 27),
        ("def main():\n    return 0\n", 8),
        ('{"name": "x", "ids": [1, 22, 333]}', 18),
        ("👍", 3),
    ],
    ids=["prose", "chinese", "french", "russian", "code", "json", "emoji"],
)
def test_the_estimate_is_on_the_high_side_but_not_far_off(text, tokens):
    assert tokens <= estimated_tokens([text])[0] <= 1.6 * tokens


def test_the_estimate_of_nothing_is_nothing():
    assert estimated_tokens(["", "a"]) == [0, 1]


def test_a_tokenizer_is_counted_without_its_padding_and_truncation():
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=5)
    count = counter_of(tokenizer)
    assert count(["one", "one two three", ""]) == [1, 3, 0]
    assert tokenizer.truncation["max_length"] == 2
    assert tokenizer.padding["length"] == 5
