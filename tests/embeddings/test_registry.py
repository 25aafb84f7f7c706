from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from engram.embeddings.registry import PROVIDERS
from engram.problems import ConfigurationProblem
from engram.settings import Settings


def test_every_provider_of_the_settings_is_there():
    assert set(PROVIDERS) == set(get_args(Settings.model_fields["embedding_provider"].annotation))


def test_no_library_is_imported_before_a_provider_is_opened():
    script = """
import sys
import engram.embeddings
heavy = {"wordllama", "openai", "fastembed", "sentence_transformers", "torch", "tokenizers"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("provider", ["openai", "fastembed", "sentence-transformers"])
async def test_a_missing_library_is_named_with_its_extra(opened, monkeypatch, provider):
    library = provider.replace("-", "_")
    monkeypatch.setitem(sys.modules, library, None)
    for module in [name for name in sys.modules if name.startswith(f"engram.embeddings.{library}")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ConfigurationProblem) as caught:
        await opened(embedding_provider=provider)
    assert f"pip install 'engram[{provider}]'" in caught.value.detail
    assert library in caught.value.detail
