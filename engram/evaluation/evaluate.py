"""Finding out what each variant finds on each set: what is kept is taken, the rest is loaded and asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engram.db.database import Database
from engram.embeddings.registry import open_embedder
from engram.evaluation.asking import ask
from engram.evaluation.cache import ResultCache
from engram.evaluation.fingerprints import digest, embedder_identity, source_fingerprint
from engram.evaluation.inprocess import client_of
from engram.evaluation.loading import Titles, load
from engram.evaluation.questions import Question, QuestionSet
from engram.evaluation.results import Answers, Loaded, Outcome
from engram.evaluation.scratch import ScratchDatabases, scratch_databases
from engram.evaluation.variants import ENTITY_VECTORS, RECOGNITION, Variant
from engram.evaluation.vectors import KeptEmbeddings, VectorStore
from engram.services import Services, assemble
from engram.settings import Settings

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]
"""A bar for some work and its size, that is told how much of it is done."""


@dataclass(frozen=True, slots=True)
class Options:
    """``top_k`` hits are asked for, ``at_once`` questions together. ``cache`` is a folder, or None."""

    settings: Settings
    titles: Titles
    language: str
    top_k: int
    at_once: int
    cache: Path | None


class Evaluation:
    """Open for as long as sets are measured. Postgres and the embedder are started by the first that needs them.

    Everything raises what the SDK, the embedder and the embedded Postgres raise.
    """

    def __init__(
        self, options: Options, scratch: Callable[[], AbstractContextManager[Path]], progress: Progress
    ) -> None:
        self._options = options
        self._scratch = scratch
        self._progress = progress
        self._cache = ResultCache(options.cache)
        self._stack = AsyncExitStack()
        self._opened: tuple[ScratchDatabases, KeptEmbeddings] | None = None

    async def __aenter__(self) -> Evaluation:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def measure(
        self, questions: QuestionSet, asked: Sequence[Question], variants: Sequence[Variant]
    ) -> list[Outcome]:
        """What each variant finds for the questions ``asked`` of a set, in the order of the variants."""
        found: dict[str, Outcome] = {}
        for group in _by_loading(variants):
            known = self._known(questions, asked, group)
            missing = [variant for variant in group if variant.name not in known]
            found |= known
            if missing:
                found |= await self._find_out(questions, asked, missing)
        return [found[variant.name] for variant in variants]

    def _known(self, questions: QuestionSet, asked: Sequence[Question], group: Sequence[Variant]) -> dict[str, Outcome]:
        loaded = self._cache.get(self._loading_key(questions, group[0]), Loaded)
        if loaded is None:
            return {}
        found = {}
        for variant in group:
            answers = self._cache.get(self._asking_key(questions, asked, variant), Answers)
            if answers is not None or _is_void(variant, loaded):
                found[variant.name] = Outcome(variant, loaded, answers)
        return found

    async def _find_out(
        self, questions: QuestionSet, asked: Sequence[Question], variants: Sequence[Variant]
    ) -> dict[str, Outcome]:
        """Load a set, and ask it of all variants; the same loading will do for them."""
        databases, embedder = await self._open()
        found: dict[str, Outcome] = {}
        async with databases.database() as database:
            services = await self._services(database, embedder, variants[0])
            with self._bar(f"{questions.name}: loading", questions.memories, embedder) as progress:
                agents, loaded = await load(
                    client_of(services),
                    questions,
                    self._options.titles,
                    self._options.language,
                    variants[0].extraction,
                    progress,
                )
            self._cache.put(self._loading_key(questions, variants[0]), loaded)
            with self._progress(f"{questions.name}: embedding questions", len(asked)) as progress:
                for done, question in enumerate(asked, start=1):
                    await embedder.embed_query(question.query)
                    progress(done)
            for variant in variants:
                answers = None
                if not _is_void(variant, loaded):
                    key = self._asking_key(questions, asked, variant)
                    # Another variant of another name may have asked the same.
                    answers = self._cache.get(key, Answers)
                    if answers is None:
                        services = await self._services(database, embedder, variant)
                        with self._progress(f"{questions.name}: {variant.name}", len(asked)) as progress:
                            answers = await ask(
                                client_of(services), agents, asked, variant,
                                top_k=self._options.top_k, at_once=self._options.at_once, progress=progress,
                            )  # fmt: skip
                        self._cache.put(key, answers)
                found[variant.name] = Outcome(variant, loaded, answers)
        return found

    async def _open(self) -> tuple[ScratchDatabases, KeptEmbeddings]:
        if self._opened is None:
            options = self._options
            folder = self._stack.enter_context(self._scratch())
            embedder = await open_embedder(options.settings)
            self._stack.push_async_callback(embedder.aclose)
            store = None
            # The static embedder is quicker than the disk.
            if options.cache is not None and options.settings.embedding_provider != "static":
                store = VectorStore(options.cache / "embeddings.sqlite3", digest(embedder_identity(options.settings)))
                self._stack.callback(store.close)
            databases = await self._stack.enter_async_context(scratch_databases(folder, options.settings))
            self._opened = databases, KeptEmbeddings(embedder, store)
        return self._opened

    async def _services(self, database: Database, embedder: KeptEmbeddings, variant: Variant) -> Services:
        settings = self._options.settings
        if variant.recognition is not None:
            settings = settings.model_copy(update={RECOGNITION: variant.recognition})
        return await assemble(settings, database, embedder, tuning=variant.tuning)

    @contextmanager
    def _bar(self, what: str, size: int, embedder: KeptEmbeddings) -> Iterator[Callable[[int], object]]:
        """A bar for loading: half of it for embedding, which may take nearly all of the time."""
        embedded = written = 0
        with self._progress(what, 2 * size) as progress:

            def embed(texts: int) -> None:
                nonlocal embedded
                embedded += texts
                progress(embedded + written)

            def write(memories: int) -> None:
                nonlocal written
                written = memories
                progress(embedded + written)

            embedder.progress = embed
            yield write
            embedder.progress = lambda texts: None

    def _loading_key(self, questions: QuestionSet, variant: Variant) -> str:
        return digest(self._loading(questions, variant))

    def _asking_key(self, questions: QuestionSet, asked: Sequence[Question], variant: Variant) -> str:
        return digest(
            {
                "loading": self._loading(questions, variant),
                "questions": [question.id for question in asked],
                "request": dict(variant.request),
                "tuning": asdict(variant.tuning),
                ENTITY_VECTORS: self._options.settings.entity_vectors,
                "top_k": self._options.top_k,
            }
        )

    def _loading(self, questions: QuestionSet, variant: Variant) -> dict[str, Any]:
        settings = self._options.settings
        return {
            "source": source_fingerprint(),
            "set": questions.fingerprint,
            "embedder": embedder_identity(settings),
            "titles": self._options.titles,
            "language": self._options.language,
            "thematic_threshold": settings.thematic_threshold,
            "written": variant.written | self._settled(variant),
            "extractions": questions.extraction_fingerprint,
        }

    def _settled(self, variant: Variant) -> dict[str, Any]:
        """What the settings say where a variant says nothing."""
        settings, made = self._options.settings, variant.written[ENTITY_VECTORS]
        return {
            RECOGNITION: variant.recognition or settings.entity_recognition,
            ENTITY_VECTORS: settings.entity_vectors > 0 if made is None else made,
        }


def _by_loading(variants: Sequence[Variant]) -> list[list[Variant]]:
    """Variants that can be asked of one loading, together."""
    groups: dict[str, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(digest(variant.written), []).append(variant)
    return list(groups.values())


def _is_void(variant: Variant, loaded: Loaded) -> bool:
    return variant.ablated is not None and not loaded.edges[variant.ablated]
