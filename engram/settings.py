"""Settings, read from the environment (prefix ``ENGRAM_``) and from a ``.env`` file in the working folder.

``LLM_PROVIDER`` and the ``EMBEDDING_*`` names are read without the prefix too, as users of other memory servers
expect them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from engram.graph.decay import HOP_PENALTY
from engram.graph.schemas import Multipliers
from engram.origins import parse_origins
from engram.rates import parse_rate
from engram.tuning import EntityRecognition


def _either(name: str) -> AliasChoices:
    return AliasChoices(f"ENGRAM_{name}", name)


class Settings(BaseSettings):
    """All settings of a server. Secrets are ``SecretStr``: they never show in a log, an error or a ``repr``."""

    model_config = SettingsConfigDict(
        env_prefix="ENGRAM_", env_file=".env", extra="ignore", populate_by_name=True, frozen=True
    )

    # Database: unset means the embedded Postgres under `data_dir`.
    database_url: SecretStr | None = None
    owner_database_url: SecretStr | None = Field(
        default=None,
        description="The database as the owner of its tables connects to it, where database_url is of a role that is "
        "only granted engram_server.",
    )
    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("engram", appauthor=False)))
    pool_size: int = Field(default=10, ge=1, le=500)
    pool_timeout: float = Field(default=10.0, gt=0, description="Seconds to wait for a free connection.")
    connect_timeout: float = Field(default=10.0, gt=0, description="Seconds to wait for the database at start.")
    statement_timeout: float = Field(default=30.0, gt=0, description="Seconds one SQL statement may take.")

    # HTTP
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    workers: int = Field(default=1, ge=1, le=64, description="Processes that answer requests.")
    insecure_bind: bool = Field(
        default=False, description="Bind to an address other than loopback although no API keys exist."
    )
    allowed_hosts: str | None = Field(
        default=None,
        description="Host names, separated by commas, that requests may be for beside localhost and loopback "
        "addresses; * allows any.",
    )
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    max_held_body_bytes: int | None = Field(
        default=None, ge=1024, description="Bytes of all bodies at once; unset: four times max_body_bytes."
    )
    max_import_bytes: int = Field(
        default=256 * 1024**3, ge=1024, description="Bytes of an export that is imported; they are not held at once."
    )
    body_timeout: float = Field(default=30.0, gt=0, description="Seconds to wait for more of a body.")
    max_concurrent_requests: int = Field(default=256, ge=1, description="Requests handled at once; more get a 503.")
    rate_limit: str | None = Field(default=None, description="How often one key may ask, such as 12000/minute.")
    cors_origins: str | None = Field(
        default=None, description="Origins, separated by commas, whose pages may read answers; * is any."
    )

    # Providers
    llm_provider: Literal["none"] = Field(default="none", validation_alias=_either("LLM_PROVIDER"))
    embedding_provider: Literal["static", "openai", "fastembed", "sentence-transformers"] = Field(
        default="static", validation_alias=_either("EMBEDDING_PROVIDER")
    )
    embedding_model: str | None = Field(default=None, validation_alias=_either("EMBEDDING_MODEL"))
    embedding_base_url: str | None = Field(default=None, validation_alias=_either("EMBEDDING_BASE_URL"))
    embedding_api_key: SecretStr | None = Field(default=None, validation_alias=_either("EMBEDDING_API_KEY"))
    embedding_dimension: int | None = Field(
        default=None, ge=1, le=16000, validation_alias=_either("EMBEDDING_DIMENSION")
    )
    embedding_query_prefix: str | None = Field(default=None, validation_alias=_either("EMBEDDING_QUERY_PREFIX"))
    embedding_passage_prefix: str | None = Field(default=None, validation_alias=_either("EMBEDDING_PASSAGE_PREFIX"))
    embedding_timeout: float = Field(default=30.0, gt=0, validation_alias=_either("EMBEDDING_TIMEOUT"))
    embedding_max_retries: int = Field(default=2, ge=0, le=10, validation_alias=_either("EMBEDDING_MAX_RETRIES"))
    thematic_threshold: float | None = Field(
        default=None,
        ge=-1,
        lt=1,
        description="Cosine above which memories are linked; unset: the model's own.",
    )

    # Graph
    entity_recognition: EntityRecognition = Field(
        default="rules",
        description="off: only what writers declare; known: declared names, wherever they stand; "
        "rules: runs of capitalised words are names too.",
    )
    entity_vectors: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="How much an entity weighs that a query names in other words; 0: no vectors of entities are made.",
    )

    # Memories
    recovery_days: int = Field(
        default=14, ge=1, le=3650, description="How long what was deleted can be restored; then it is erased."
    )

    decay_multipliers: Annotated[Multipliers, NoDecode] = Field(
        default_factory=dict, description="Shares that hops keep, by relation, where they are not the product's."
    )
    hop_penalty: float = Field(default=HOP_PENALTY, ge=0, lt=1, description="What each hop costs.")

    traverse_hub_share: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Walks over entities do not go on from one that was reached by at most this share of its degree.",
    )
    traverse_rank_by: Literal["co_occur", "specificity", "cosine"] = Field(
        default="cosine", description="By what such walks keep the best of each hop."
    )

    entity_communities: bool = Field(
        default=False, description="Whether communities of entities are computed, in jobs."
    )
    entity_communities_hub_drop: float = Field(
        default=0.01,
        ge=0,
        le=0.5,
        description="Share of the entities, the commonest, that are left out at first.",
    )
    entity_communities_giant_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="Twice as many are left out while one community holds more than this share of the others.",
    )

    # Jobs
    worker: bool = Field(default=True, description="Whether `engram serve` does jobs too.")
    job_attempts: int = Field(default=8, ge=1, le=100, description="Attempts before a job is given up.")
    job_retry_seconds: float = Field(
        default=30.0, gt=0, le=3600, description="Pause after a job's first attempt; it doubles each time."
    )
    job_lease_seconds: float = Field(
        default=30.0, ge=1, le=3600, description="After how long a job is taken over from a worker that died."
    )

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["console", "json"] = "console"
    slow_statement_seconds: float = Field(
        default=0.5, ge=0, allow_inf_nan=False, description="SQL that takes longer is logged; 0 logs none."
    )

    # Metrics
    metrics_token: SecretStr | None = Field(default=None, description="Bearer token that a scrape must bring.")

    @field_validator(
        "database_url",
        "owner_database_url",
        "embedding_model",
        "embedding_base_url",
        "embedding_api_key",
        "metrics_token",
        "max_held_body_bytes",
        "rate_limit",
        "cors_origins",
        mode="before",
    )
    @classmethod
    def _blank_is_unset(cls, value: object) -> object:
        """A compose file passes a variable on as blank where it is not set. (A blank prefix is a choice: none.)"""
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("decay_multipliers", mode="before")
    @classmethod
    def _is_an_object(cls, value: object) -> object:
        """JSON, read here: what pydantic-settings reads by itself it does not refuse by name."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value.strip() else {}
        except ValueError:
            raise ValueError('must be a JSON object, such as {"thematic": 0.8}') from None

    @field_validator("max_held_body_bytes")
    @classmethod
    def _holds_one_body(cls, value: int | None, others: ValidationInfo) -> int | None:
        if value is not None and value < others.data.get("max_body_bytes", 0):
            raise ValueError("must be at least max_body_bytes")
        return value

    @field_validator("owner_database_url")
    @classmethod
    def _owner_of_a_database(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is not None and info.data.get("database_url") is None:
            raise ValueError("is set, and ENGRAM_DATABASE_URL is not")
        return value

    @field_validator("rate_limit")
    @classmethod
    def _is_a_rate(cls, value: str | None) -> str | None:
        if value is not None:
            parse_rate(value)
        return value

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, value: str | None) -> str | None:
        parse_origins(value or "")
        return value
