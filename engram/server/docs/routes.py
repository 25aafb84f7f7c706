"""The page where the API can be read and tried. All of it comes from this server: it works without a network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse

from engram.server.middleware.security_headers import DOCS

_OURS = Path(__file__).parent
_SWAGGER_UI = Path(str(files("fastapi_offline"))) / "static"

_FILES = {
    DOCS: (_OURS / "page.html", "text/html"),
    f"{DOCS}/start.js": (_OURS / "start.js", "text/javascript"),
    f"{DOCS}/swagger-ui-bundle.js": (_SWAGGER_UI / "swagger-ui-bundle.js", "text/javascript"),
    f"{DOCS}/swagger-ui.css": (_SWAGGER_UI / "swagger-ui.css", "text/css"),
}


def documentation() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    for path, (file, kind) in _FILES.items():
        router.add_api_route(path, _serving(file, kind), response_class=FileResponse)
    return router


def _serving(file: Path, kind: str) -> Callable[[], Awaitable[FileResponse]]:
    async def serve() -> FileResponse:
        return FileResponse(file, media_type=kind)

    return serve
