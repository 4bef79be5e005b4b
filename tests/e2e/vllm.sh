#!/bin/sh
# Stands in for vLLM's command, so that the chart's values for it can be installed as they are:
# vllm serve MODEL --port PORT
if [ "$1" != serve ]; then echo "vllm.sh: expected serve, not '$1'" >&2; exit 2; fi
shift 2
exec python3 /opt/sim/tests/helpers/engine_sim.py --kind vllm --host 0.0.0.0 --rate 20 "$@"
