"""The Prometheus text of engine_sim, in the dialect of each engine, honest or not.

Each gauge has a series for each of two ranks; the first rank holds the odd request.
"""

import os
import time

START_TIME = round(time.time(), 2)
PATHS = {"vllm": "/metrics", "sglang": "/metrics", "trtllm": "/prometheus/metrics"}
NAMES = {  # running, waiting, KV cache use, tokens
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting",
             "vllm:kv_cache_usage_perc", "vllm:generation_tokens_total"),
    "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs",
               "sglang:token_usage", "sglang:generation_tokens_total"),
    "trtllm": ("trtllm_num_requests_running", "trtllm_num_requests_waiting",
               "trtllm_kv_cache_utilization", "trtllm_generation_tokens_total"),
}  # fmt: skip
# The texts that may be sent instead of the true one. `zero`: only the gauges are false; `still`:
# the counter is, too.
MODES = ("true", "stale", "zero", "still", "absent", "nan", "half", "garbage", "error", "flood")


class Metrics:
    """`options.kind` and `options.metrics` decide; the latter may change at any moment."""

    def __init__(self, options, generator):
        self.options = options
        self.generator = generator
        self._stale = None
        self.read = 0  # how often

    def freeze(self):
        """From now on `stale` is what is true now."""
        self._stale = self._text()

    def answer(self):
        """Status and body."""
        self.read += 1
        mode = self.options.metrics
        if mode == "stale":
            return 200, self._stale or self._text()
        if mode == "garbage":
            return 200, b"\xff\xfe{]\n" + self._names()[0].encode() + b"{ 0x7 \n\0\0\n"
        if mode == "error":
            return 500, b"out of order\n"
        if mode == "flood":
            return 200, b"filler_total 1\n" * (2 * 1024 * 1024)
        return 200, self._text()

    def _names(self):
        return NAMES[self.options.kind]

    def _text(self):
        mode, generator = self.options.metrics, self.generator
        running, waiting, usage, tokens = self._names()
        lines = [
            "# HELP process_start_time_seconds Start time of the process since unix epoch.",
            "# TYPE process_start_time_seconds gauge",
            f"process_start_time_seconds {START_TIME}",
        ]
        if self.options.api_servers > 1:
            lines = []  # Prometheus' client has no such series for several processes
        if mode == "absent":
            return self._joined(lines)
        counts = dict(zip((running, waiting), generator.figures(), strict=True))
        for name, count in counts.items():
            count = 0 if mode in ("zero", "still") else count
            lines.append(f"# TYPE {name} gauge")
            lines.append(self._series(name, 0, count - count // 2))
            if mode != "half":
                lines.append(self._series(name, 1, "NaN" if mode == "nan" else count // 2))
            if mode == "half":
                break  # the text ends before the second gauge
        lines += [f"# TYPE {usage} gauge", self._series(usage, 0, generator.cache_use())]
        # SGLang counts a request's tokens when it ends.
        count = generator.tokens_ended if self.options.kind == "sglang" else generator.tokens
        count = 0 if mode == "still" else count
        lines += [f"# TYPE {tokens} counter", self._series(tokens, 0, count)]
        return self._joined(lines)

    def _series(self, name, rank, value):
        value = value if isinstance(value, str) else float(value)
        label = "dp_rank" if self.options.dp_ranks else "engine"
        return f'{name}{{{label}="{rank}",model_name="sim {{\\"{os.getpid()}\\"}}"}} {value}'

    @staticmethod
    def _joined(lines):
        return ("\n".join(lines) + "\n").encode()
