"""Names of variants, and what they stand for."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from engram.evaluation.problems import EvaluationError
from engram.evaluation.variants import names_of, parse_variants
from engram.graph.schemas import RelationType
from engram.graph.tuning import GraphTuning
from engram.memories.tuning import MemoryTuning
from engram.recall.tuning import RecallTuning
from engram.tuning import WRITE_TIME, Tuning


def test_the_default_is_the_main_table() -> None:
    assert names_of(parse_variants("default")) == [
        *("vector", "vector+passages", "lexical", "vector+lexical", "formula", "full")
    ]


def test_the_named_ones_are_requests() -> None:
    requests = {variant.name: variant.request for variant in parse_variants("default")}
    assert requests["vector"] == {"graph_weight": 0, "max_hops": 0, "lexical": False}
    assert requests["lexical"] == {"graph_weight": 1, "max_hops": 0}
    assert requests["vector+lexical"] == {"max_hops": 0}
    assert requests["formula"] == {"lexical": False}
    assert requests["full"] == {}


def test_an_ablation_leaves_one_edge_type_out() -> None:
    (variant,) = parse_variants("full-thematic")
    assert variant.ablated is RelationType.thematic
    kept = {RelationType(name) for name in variant.request["relation_types"]}
    assert kept == set(RelationType) - {RelationType.thematic}


def test_values_go_where_they_belong() -> None:
    request, recall, graph, written = parse_variants("max_hops=3,anchors=40,specificity=false,thematic_threshold=0.6")
    assert request.request == {"max_hops": 3}
    assert recall.tuning == Tuning(recall=RecallTuning(anchors=40))
    assert graph.tuning == Tuning(graph=GraphTuning(specificity=False))
    assert written.tuning == Tuning(graph=GraphTuning(thematic_threshold=0.6))
    assert request.written == recall.written == graph.written != written.written


def test_several_changes_to_one() -> None:
    (variant,) = parse_variants("formula:max_hops=3:anchors=40:entity_recognition=rules")
    assert variant.request == {"lexical": False, "max_hops": 3}
    assert variant.tuning.recall.anchors == 40
    assert variant.recognition == "rules"
    (variant,) = parse_variants("full:extraction=all")
    assert variant.written != parse_variants("full")[0].written


def test_a_field_alone_stands_for_several_values_and_a_repeated_name_for_one() -> None:
    assert names_of(parse_variants("max_hops, full ,full")) == [*(f"max_hops={hops}" for hops in range(5)), "full"]


@pytest.mark.parametrize("owner", [RecallTuning, GraphTuning])
def test_every_field_of_a_tuning_can_be_varied(owner: type) -> None:
    for field in fields(owner):
        (variant,) = parse_variants(f"{field.name}={json.dumps(field.default)}")
        assert variant.tuning == Tuning()


def test_what_is_written_is_named_as_it_is() -> None:
    assert {field.name for owner in (RecallTuning, GraphTuning, MemoryTuning) for field in fields(owner)} >= WRITE_TIME


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fulll", "unknown variant 'fulll'.*known are the groups default.*vector.*anchors"),
        ("full:nope=1", "unknown variant 'full:nope=1'"),
        ("diversity", "diversity needs a value"),
        ("anchors=x", "variant 'anchors=x': anchors: .*integer"),
        ("anchors=0", "variant 'anchors=0': anchors: .*greater than or equal to 1"),
        ("graph_weight=3", "variant 'graph_weight=3': graph_weight: .*less than or equal to 1"),
        ("query=x", "unknown variant 'query=x'"),
        ("entity_recognition=all", "entity_recognition is one of off, known, rules, not 'all'"),
        (" ,", "no variant is named"),
    ],
)
def test_what_is_not_known_is_named(text: str, told: str) -> None:
    with pytest.raises(EvaluationError, match=told):
        parse_variants(text)
