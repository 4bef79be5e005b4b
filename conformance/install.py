#!/usr/bin/env python3
"""Fetches the subjects that Debian does not have into a folder outside of the tree.

    install.py [dynamo] [queue-proxy]        both by default

Dynamo's wheels are installed with pip into a virtual environment, and a model of a few kilobytes
is made. Knative's queue-proxy is built from the Go module proxy, with the Go that is on PATH. What
is installed already is left as it is. The folder is printed by
`python3 -c 'import adapter; print(adapter.CACHE)'`.
"""

import json
import shutil
import subprocess
import sys
import venv

from adapter import CACHE

DYNAMO = "1.6.1"
# Dynamo's mocker and frontend import these; the rest of its requirements is not needed here.
MODULES = ("pyyaml", "msgspec", "packaging", "aiohttp", "prometheus-client", "pyzmq", "zstandard",
           "kubernetes<33", "tqdm", "transformers", "tokenizers")  # fmt: skip
KNATIVE = "v0.42.2"


def call(*command, **how):
    print("+", " ".join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True, **how)


def dynamo():
    folder = CACHE / "dynamo"
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip = (python, "-m", "pip", "install", "-q")
        call(*pip, f"ai-dynamo-runtime=={DYNAMO}", *MODULES)
        call(*pip, "--no-deps", f"ai-dynamo=={DYNAMO}")
        call(python, "-m", "dynamo.mocker", "--help", stdout=subprocess.DEVNULL)
        (folder / "installed").touch()
    make_model(python)


def make_model(python):
    """A tokenizer that learned from the standard library, and a configuration without weights."""
    model = CACHE / "model"
    model.mkdir(exist_ok=True)
    train = """
import json, sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
made = Tokenizer(models.BPE())
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
made.decoder = decoders.ByteLevel()
made.train_from_iterator(open(json.__file__), trainers.BpeTrainer(
    vocab_size=2048, special_tokens=["<|end|>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
made.save(sys.argv[1])
"""
    call(python, "-c", train, model / "tokenizer.json")
    files = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
            "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 2048, "bos_token_id": 0,
            "eos_token_id": 0, "max_position_embeddings": 16384, "rms_norm_eps": 1e-5,
            "hidden_act": "silu", "torch_dtype": "float32",
        },
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 0},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>",
            "bos_token": "<|end|>", "model_max_length": 16384,
            "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        },
    }  # fmt: skip
    for name, content in files.items():
        (model / name).write_text(json.dumps(content))


def queue_proxy():
    if (CACHE / "queue-proxy").exists():
        return
    if shutil.which("go") is None:
        sys.exit("install.py: queue-proxy needs Go 1.23 or newer on PATH")
    build = CACHE / "queue-proxy-build"
    build.mkdir(exist_ok=True)
    (build / "go.mod").write_text("module kit\n\ngo 1.23\n")
    call("go", "get", f"knative.dev/serving/cmd/queue@{KNATIVE}", cwd=build)
    call("go", "build", "-o", CACHE / "queue-proxy", "knative.dev/serving/cmd/queue", cwd=build)


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    known = {"dynamo": dynamo, "queue-proxy": queue_proxy}
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"install.py: unknown '{name}', expected: {', '.join(known)}")
        known[name]()


if __name__ == "__main__":
    main()
