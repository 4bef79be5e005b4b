"""One user of the Python package `openai`: PORT FOLDER-WITH-THE-PACKAGE. Prints what was seen."""

import json
import sys

port, folder = sys.argv[1:]
sys.path.insert(0, f"{folder}/site")

import openai  # noqa: E402

client = openai.OpenAI(
    base_url=f"http://127.0.0.1:{port}/v1", api_key="x", timeout=60,
    http_client=openai.DefaultHttpxClient(trust_env=False),
)  # fmt: skip
seen = {"text": ""}
try:
    messages = [{"role": "user", "content": "x"}]
    for event in client.chat.completions.create(model="m", messages=messages, stream=True):
        seen["text"] += event.choices[0].delta.content
        print("begun", flush=True)
except openai.APIError as error:
    seen["error"] = type(error).__name__
    seen["status"] = getattr(error, "status_code", None)
    seen.update(type=error.type, code=error.code, body=error.body)
print(json.dumps(seen), flush=True)
