"""NVIDIA Dynamo as a peer of the router: its frontend, which migrates, and two engines behind it.

The engines are Python programs, as the demo engine is, and make a word at the same pace. A model of
four words is all that the frontend has to know. Discovery is by files, requests go over TCP: what
needs no service of its own, and least time.
"""

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from bench import PATIENCE, await_that
from figures import NotMeasured

PROGRAM = str(Path(__file__).parent / "programs/dynamo_engine.py")
VOCABULARY = ("<end>", "word", "x", "<unknown>")
FRONTEND = ("--migration-limit", "3", "--discovery-backend", "file", "--request-plane", "tcp",
            "--event-plane", "zmq")  # fmt: skip
START = 60  # seconds: it imports much


def python_of_dynamo():
    python = os.environ.get("LASTCALL_BENCH_DYNAMO")
    if not python:
        raise NotMeasured("LASTCALL_BENCH_DYNAMO names no Python with ai-dynamo and its runtime")
    if subprocess.run([python, "-c", "import dynamo.frontend.main"], capture_output=True,
                      timeout=START, check=False).returncode:  # fmt: skip
        raise NotMeasured("that Python cannot import dynamo.frontend")
    return python


def _write_model(folder):
    end = {"id": 0, "content": VOCABULARY[0], "special": True, "normalized": False,
           "single_word": False, "lstrip": False, "rstrip": False}  # fmt: skip
    words = {word: number for number, word in enumerate(VOCABULARY)}
    for name, text in {
        "tokenizer": {
            "version": "1.0", "added_tokens": [end], "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": words, "unk_token": VOCABULARY[3]}},
        "config": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8,
            "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
            "num_key_value_heads": 1, "vocab_size": len(words), "bos_token_id": 0,
            "max_position_embeddings": 1 << 20, "eos_token_id": 0},
        "tokenizer_config": {
            "eos_token": VOCABULARY[0], "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": "{% for m in messages %}{{ m.content }} {% endfor %}"},
        "generation_config": {"eos_token_id": 0},
    }.items():  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(text))


class DynamoFleet:
    """A frontend and its first engine; `add_engine()` makes another one."""

    def __init__(self, bench, port, rate, stall):
        self.folder = Path(tempfile.mkdtemp(dir=bench.scratch))
        self.python, self.rate, self.port = python_of_dynamo(), rate, port
        self.model, self.files = self.folder / "model", self.folder / "files"
        self.model.mkdir()
        _write_model(self.model)
        self.environment = {
            **os.environ, "DYN_FILE_KV": str(self.files), "DYN_LOG": "off", "HF_HUB_OFFLINE": "1",
            "DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS": "1",
            "DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS": "1",
            "DYN_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT": "1",
            "DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS": str(stall)}  # fmt: skip
        self.processes = []
        self.engines = []
        self.add_engine()
        self._start("-m", "dynamo.frontend", "--http-port", str(port), *FRONTEND)

    def add_engine(self):
        self.engines.append(self._start(PROGRAM, str(self.model), str(self.rate)))
        await_that(lambda: self._registered() == len(self.engines), "engine of Dynamo", START)

    def _registered(self):
        return sum(1 for path in self.files.glob("v1/instances/*/*") if path.is_file()) or sum(
            1 for path in self.files.glob("v1/instances/*") if path.is_file())  # fmt: skip

    def _start(self, *words):
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL}  # fmt: skip
        process = subprocess.Popen([self.python, *words], env=self.environment, **quiet)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE)
