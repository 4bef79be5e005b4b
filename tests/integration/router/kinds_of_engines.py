"""Engines that take and report what vLLM, SGLang, TensorRT-LLM and simpler ones do, and no more.

Rules
  1. A token's id is 100 and its number, its text `t0 `, `t1 ` and so on: what follows is a function
     of the prompt's last token, so that a seam shows.
  2. Each kind answers to a key that it does not know as that server does.
"""

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from serve_peer import PATIENCE

FIRST_ID = 100
PLAIN_KEYS = {"model", "messages", "prompt", "max_tokens", "temperature", "stream",
              "stream_options", "stop"}  # fmt: skip
OWNERS = {"vllm": "vllm", "sglang": "sglang", "strict": "tensorrt_llm"}


def ids_of(text):
    """Words of the answer are its tokens, any other is one of the prompt."""
    return [FIRST_ID + int(word[1:]) if word[:1] == "t" and word[1:].isdigit() else 7
            for word in text.split()]  # fmt: skip


class Refused(Exception):
    pass


class Asked:
    """A request as an engine of that kind understands it."""

    def __init__(self, kind, path, body):
        self.kind, self.body = kind, body
        self.is_chat = "chat" in path
        self.judge_keys()
        self.text = ""  # of the answer that was given as text
        self.prompt = self.read_prompt()
        options = body.get("stream_options") or {}
        self.usage = kind != "silent" and bool(options.get("continuous_usage_stats"))
        self.tells_ids = kind in ("vllm", "sglang") and bool(body.get("return_token_ids"))

    def judge_keys(self):
        unknown = set(self.body) - PLAIN_KEYS
        if self.kind == "strict" and unknown:
            raise Refused(f"extra inputs are not permitted: {unknown}")
        if self.kind == "sglang" and self.is_chat and self.body.get("return_token_ids"):
            raise Refused("return_token_ids is not supported with stream")

    def read_prompt(self):
        body = self.body
        if not self.is_chat:
            prompt = body["prompt"]
            self.text = "" if isinstance(prompt, list) else prompt
            return prompt if isinstance(prompt, list) else ids_of(prompt)
        if self.kind == "vllm" and "prompt_token_ids" in (body.get("kv_transfer_params") or {}):
            return body["kv_transfer_params"]["prompt_token_ids"]
        if self.kind == "sglang" and body.get("input_ids"):
            return body["input_ids"]
        ids = [1]
        for message in body["messages"]:
            ids += [2, *ids_of(message["content"])]
        if body.get("continue_final_message"):
            self.text = body["messages"][-1]["content"]
            return ids
        return [*ids, 3]  # the generation's start

    def begins_at(self):
        return max(0, self.prompt[-1] - FIRST_ID + 1) if self.prompt else 0


class KindOfEngine:
    """`kind`: vllm, sglang, strict (400 to any unknown key), text, or silent (reports no usage).

    `dies_at`: it ends the connection after that token of the first users' stream that it has, once
    `may_die` is set.
    `probe_status`: what the router's own questions are answered with.
    `key`: what `Authorization: Bearer` has to carry; anything else is a 401.
    `models`: the bytes that it answers instead of its list of models.
    """

    def __init__(self, kind, model="m", dies_at=None, probe_status=None, port=0, tls=None,
                 host="127.0.0.1", key=None, models=None):
        self.kind, self.model = kind, model
        self.dies_at, self.probe_status, self.key = dies_at, probe_status, key
        self.models = models
        self.bodies, self.probes, self.heads = [], [], []
        self.lock, self.may_die = threading.Lock(), threading.Event()
        self.may_die.set()
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                engine.connections += 1
                engine.open.append(self.connection)

            def handle(self):
                with contextlib.suppress(OSError):
                    super().handle()

            def log_message(self, *_):
                pass

            def do_GET(self):
                engine.list_models(self)

            def do_POST(self):
                engine.answer(self)

        self.server = ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True
        self.connections, self.open = 0, []
        if tls:
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self.server.server_address[1]
        self.address = f"{host}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for each in self.open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def lets_in(self, http):
        if self.key in (None, (http.headers.get("Authorization") or "").removeprefix("Bearer ")):
            return True
        self.whole(http, 401, {"error": {"message": "Unauthorized"}})
        return False

    def list_models(self, http):
        if not self.lets_in(http):
            return
        owner = OWNERS.get(self.kind, "somebody")
        self.whole(http, 200, {"data": [{"id": self.model, "owned_by": owner}]}, self.models)

    def whole(self, http, status, value, text=None):
        text = text or json.dumps(value).encode()
        http.send_response(status)
        http.send_header("Content-Length", str(len(text)))
        http.end_headers()
        http.wfile.write(text)

    def answer(self, http):
        size = int(http.headers.get("Content-Length", 0))
        body = json.loads(http.rfile.read(size))
        if not self.lets_in(http):
            return
        is_probe = http.headers.get("X-Lastcall-Probe") == "1"
        with self.lock:
            (self.probes if is_probe else self.bodies).append(body)
            self.heads += [] if is_probe else [dict(http.headers)]
            dies = None if is_probe or len(self.bodies) > 1 else self.dies_at
        if is_probe and self.probe_status:
            self.whole(http, self.probe_status, {"error": {"message": "not now"}})
            return
        if "detokenize" in http.path:
            text = "".join(f"t{each - FIRST_ID} " for each in body["tokens"])
            self.whole(http, 200, {"prompt": text})
            return
        try:
            asked = Asked(self.kind, http.path, body)
        except Refused as refused:
            self.whole(http, 400, {"error": {"message": str(refused), "code": 400}})
            return
        self.stream(http, asked, dies)

    def stream(self, http, asked, dies):
        http.send_response(200)
        http.send_header("Content-Type", "text/event-stream")
        http.send_header("Transfer-Encoding", "chunked")
        http.end_headers()
        at, most = asked.begins_at(), asked.body.get("max_tokens", 16)
        for done in range(most):
            if dies is not None and at + done == dies:
                self.may_die.wait(PATIENCE)
                http.close_connection = True
                return
            is_seam = at and not done and asked.text and not asked.text.endswith(" ")
            joint = " " if is_seam else ""
            self.event(http, asked, joint + f"t{at + done} ", [FIRST_ID + at + done], done + 1)
        self.event(http, asked, "", [], most, finish="length")
        done = b"data: [DONE]\n\n"  # with the end, so that the connection may be kept
        http.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(done), done))

    def event(self, http, asked, text, ids, done, finish=None):
        content = {"delta": {"content": text}} if asked.is_chat else {"text": text}
        choice = {"index": 0, **content, "finish_reason": finish}
        value = {"id": "e", "object": "o", "created": 1, "model": self.model, "choices": [choice]}
        if asked.tells_ids:
            choice["token_ids"] = ids
            value["prompt_token_ids"] = asked.prompt if done == 1 else None
        if asked.usage:
            prompt = len(asked.prompt)
            value["usage"] = {"prompt_tokens": prompt, "completion_tokens": done,
                              "total_tokens": prompt + done}  # fmt: skip
        self.chunk(http, b"data: " + json.dumps(value).encode() + b"\n\n")

    def chunk(self, http, data):
        http.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        http.wfile.flush()
