"""Cases that need more than bytes to the open port: hooks, secrets, the shared directory, crowds.

Each is a function of the stage that returns what happened, and fails by an assertion. Some ask
nginx and HAProxy the same; where they have no such thing, a dash stands for them.
"""

import contextlib
import fcntl
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration")
sys.path += [os.path.join(TESTS, part) for part in ("serve", "registries")]

from certificates import Authority  # noqa: E402
from ports import free_port  # noqa: E402
from prestop_world import ENGINE_HOOK, SUPERVISOR_HOOK, PrestopWorld  # noqa: E402
from serve_peer import PATIENCE, PeerError, wait_until  # noqa: E402
from serve_usage import anonymous  # noqa: E402
from serve_world import LASTCALL, lastcall  # noqa: E402
from stage import Proxy, receive  # noqa: E402
from traced import stopped_thread  # noqa: E402
from wire_cases import request  # noqa: E402

CASES = []
NOBODY = 65532


def into(cases):
    """A decorator that gives a function its number and title, and adds it to a list."""
    def case(point, title):
        def add(function):
            function.point, function.title = point, title
            cases.append(function)
            return function
        return add
    return case


case = into(CASES)


def get(port, path, host="127.0.0.1", method="GET", body=None, **headers):
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def metric(one, series):
    for line in one.get("/metrics")[1].splitlines():
        if line.startswith(series + " "):
            return float(line.rpartition(" ")[2])
    return 0.0


def phase(one):
    return one.status()["phase"]


# --- 1: the loop ---------------------------------------------------------------------------------


@case("1", "/livez and /metrics while the loop works on 200 heads of 32 kB")
def probes_answer_beside_hostile_heads(stage):
    """The probe listener has a thread of its own: it answers between any two heads."""
    ours = stage.ours()
    head = request("/v1/models", *[f"X-{i}: a" for i in range(110)], "Connection: " + "," * 30_000)
    sockets = [ours.connect() for _ in range(200)]
    for each in sockets:
        each.sendall(head)
    statuses = {ours.world.get(path)[0] for path in ("/livez", "/readyz", "/metrics")}
    for each in sockets:
        each.close()
    assert statuses == {200}
    return "200 for each"


@case("1", "/livez while the loop hangs: 200, after 10 s 503, and 200 when it goes on")
def probes_answer_without_the_loop(stage):
    one = stage.serving()
    with stopped_thread(one.supervisor_pid()):
        assert one.get("/livez")[0] == 200
        wait_until(lambda: one.get("/livez")[0] == 503, "it is seen to hang")
        assert one.get("/metrics")[0] == 200
    wait_until(lambda: one.get("/livez")[0] == 200, "it goes on")
    return "200 503 200, each at once"


# --- 2: preStop by strangers ---------------------------------------------------------------------


def hooks_world(stage, **lifecycle):
    port = free_port()
    one = stage.serving(lifecycle={"enabled": True, "listen": f"127.0.0.1:{port}", **lifecycle})
    return one, port


@case("2", "two GETs to the hook listener from within the pod, no token configured")
def strangers_do_not_stop(stage):
    one, port = hooks_world(stage)
    for path in (SUPERVISOR_HOOK, ENGINE_HOOK):
        assert get(port, path)[0] == 403
    assert phase(one) == "serving" and one.get("/readyz")[0] == 200
    return "403 403, serving"


@case("2", "the same with a token, which the caller does not know")
def a_token_is_asked_for(stage):
    one, port = hooks_world(stage, token="known-to-the-kubelet")
    found = [get(port, ENGINE_HOOK)[0], get(port, ENGINE_HOOK, X_Lastcall_Token="guess")[0]]
    assert found == [401, 403] and phase(one) == "serving"
    return "401 403, serving"


@case("2", "two requests of an SDK's socket as the engine, instead of the hook")
def an_engine_is_no_hook(stage):
    one = stage.serving(lifecycle={"enabled": True, "http": False})
    peer = one.peer()
    refused = 0
    for op, fields in (("prestop", {"container": "engine"}), ("drain", {"exit": True}),
                       ("resume", {}), ("admission.set", {"queue_limit": 0})):  # fmt: skip
        with contextlib.suppress(AssertionError):
            try:
                peer.ask(op, **fields)
            except PeerError as error:
                refused += error.code in ("not_allowed", "unknown_op", "bad_field")
    assert refused == 4 and phase(one) == "serving"
    return "not_allowed, serving"


@case("2", "check --strict of hooks by HTTP without a token")
def strict_refuses_open_hooks(stage):
    done = lastcall("check", "--strict", "--set", "lifecycle.enabled=true")
    assert done.returncode == 2 and "lifecycle.token" in done.stderr
    return "exit 2, lifecycle.token"


@case("2", "both hooks called, by one who knows the token, in a pod that nobody deletes")
def a_false_call_is_undone(stage):
    one = stage.world(PrestopWorld)
    one.begin(LASTCALL_POD_GRACE_SECONDS="4")
    for path in (SUPERVISOR_HOOK, ENGINE_HOOK):
        one.call(path).result()
    one.wait_for_log("outlived its preStop call")
    one.wait_for_phase("serving")
    assert one.get("/readyz")[0] == 200 and metric(one, "lastcall_prestop_false_total") == 1
    return "drained, serving again, counted"


@case("2", "a threshold of 0 set by a stranger on the probe port, with a token configured")
def strangers_set_no_threshold(stage):
    one = stage.serving(admission={"http_api": True, "http_token": "known-to-the-router"},
                        identity={"model": "m"})  # fmt: skip
    body = json.dumps({"model": "m", "active_prefill_tokens_threshold": 0})
    kind = {"Content_Type": "application/json"}
    found = [get(one.port, "/busy_threshold", method="POST", body=body, **kind, **token)[0]
             for token in ({}, {"X_Lastcall_Token": "guess"})]  # fmt: skip
    assert found == [401, 403]
    assert one.status()["admission"].get("active_prefill_tokens_threshold") is None
    return "401 403, not set"


@case("2", "check --strict of thresholds that anybody may set")
def strict_refuses_open_thresholds(stage):
    done = lastcall("check", "--strict", "--set", "admission.http_api=true")
    assert done.returncode == 2 and "admission.http_token" in done.stderr
    return "exit 2, admission.http_token"


# --- 3: secrets ----------------------------------------------------------------------------------


@case("3", "the query of a registry's URL: probe port, metrics, status, log")
def a_query_is_shown_nowhere(stage):
    dead = f"http://127.0.0.1:{free_port()}/workers?key=hush"
    one = stage.world(discovery=[{"http": {"url": dead}}],
                      identity={"advertise": "http://10.0.0.7:8000"})
    one.config["health"]["checks"] = []
    one.run("/bin/sleep", "3600")
    one.wait_for_log("/workers: ")
    pages = [one.get(path)[1] for path in ("/readyz?verbose", "/health", "/metrics")]
    assert "hush" not in one.log() + json.dumps(one.status()) + "".join(pages)
    assert "://" not in pages[0]
    return "nowhere; no URL on the probe port"


@case("3", "check of a URL with a user and a password")
def a_password_is_not_printed(stage):
    done = lastcall("check", "--set", "discovery=[{http: {url: 'http://me:hush@h/?k=hush2'}}]")
    assert done.returncode == 2 and "hush" not in done.stderr + done.stdout, done.stderr
    return "exit 2, without them"


@case("3", "secrets of the environment, in the engine's and in /proc")
def secrets_reach_nobody(stage):
    folder = stage.subfolder()
    os.chmod(stage.folder, 0o755)
    os.chmod(folder, 0o777)
    names = ("LASTCALL_ETCD_PASSWORD", "LASTCALL_NATS_PASSWORD", "LASTCALL_LIFECYCLE_TOKEN",
             "LASTCALL_INGRESS_TOKEN", "LASTCALL_ADMISSION_TOKEN")  # fmt: skip
    look = "cat /proc/$PPID/environ /proc/$(pgrep -x lastcall -P $PPID)/environ"
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = subprocess.run(
        [*(as_nobody if os.geteuid() == 0 else ()), LASTCALL, "run", "--set",
         f"probes.listen=127.0.0.1:{free_port()}", "--", "/bin/sh", "-c",
         f"env > {folder}/env; {look} > {folder}/proc"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, **dict.fromkeys(names, "hush"), "XDG_RUNTIME_DIR": folder},
    )  # fmt: skip
    with open(f"{folder}/env") as env, open(f"{folder}/proc") as proc:
        assert "hush" not in env.read() + proc.read()
    assert done.stderr.count("Permission denied") == 2, done.stderr
    return "absent, EACCES"


@case("3", "the same secrets in a cleanup hook's environment")
def secrets_reach_no_hook(stage):
    one = stage.world()
    hook_output = one.path("hook")
    hook = {"name": "look", "command": ["/bin/sh", "-c", f"env > {hook_output}"], "timeout": "2s"}
    one.config["cleanup"] = {"hooks": [hook]}
    one.config["health"]["checks"] = []
    names = ("LASTCALL_ETCD_PASSWORD", "LASTCALL_NATS_PASSWORD", "LASTCALL_LIFECYCLE_TOKEN")
    run = one.run("/bin/sleep", "3600", **dict.fromkeys(names, "hush"))
    one.wait_for_log('"phase begun","phase":"serving"')
    run.terminate()
    assert run.wait(PATIENCE) == 0
    with open(hook_output) as file:
        text = file.read()
    assert "PATH=" in text and "hush" not in text
    return "absent"


@case("3", "a core of the supervisor")
def no_core(stage):
    """An undumpable process writes no core, and its files in /proc belong to root."""
    folder = stage.subfolder()
    os.chmod(stage.folder, 0o755)
    os.chmod(folder, 0o777)
    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    one = stage.world()
    os.chmod(one.directory, 0o777)
    one.wrapped = as_nobody if os.geteuid() == 0 else ()
    one.config["health"]["checks"] = []
    one.write_config()
    os.chmod(one.path("lastcall.yaml"), 0o644)
    one.run("/bin/sleep", "3600")
    one.wait_for_log('"phase begun","phase":"serving"')
    pid = one.supervisor_pid()
    assert os.stat(f"/proc/{pid}/environ").st_uid == 0
    return "undumpable"


# --- 4: the shared directory ---------------------------------------------------------------------


@case("4", "pipes, a link and a foreign flock in the engine's directory, where stop.json was")
def a_neighbour_blocks_nothing(stage):
    one = stage.world()
    shared = os.path.dirname(one.socket)
    os.makedirs(shared)
    for name in ("stop.json", "lock", "lastcall.lock"):
        os.mkfifo(os.path.join(shared, name))
    os.symlink("/etc/passwd", os.path.join(shared, "stop.json.new"))
    held = os.open(shared, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        one.config["health"]["checks"] = []
        serve = one.serve()
        wait_until(lambda: one.get("/livez")[0] == 200, "it runs")
        assert phase(one) in ("starting", "serving")
        serve.terminate()
        assert serve.wait(PATIENCE) == 0
    finally:
        os.close(held)
    return "starts, answers, ends with 0"


@case("4", "stop.json as a pipe and as a link in its own directory")
def a_pipe_in_its_own_directory(stage):
    for make in (os.mkfifo, lambda path: os.symlink("/etc/passwd", path)):
        one = stage.world()
        own = os.path.dirname(one.admin_socket)
        os.makedirs(own)
        make(os.path.join(own, "stop.json"))
        one.config["health"]["checks"] = []
        serve = one.serve()
        wait_until(lambda one=one: one.get("/livez")[0] == 200, "it runs")
        serve.terminate()
        assert serve.wait(PATIENCE) == 0
    with open("/etc/passwd") as file:
        assert file.readline().startswith("root:")
    return "ignored"


# --- 5: crowds -----------------------------------------------------------------------------------


def newcomer_among_idle(proxy, crowd):
    """What a new client gets while as many idle connections as there may be stay open."""
    held = [proxy.connect() for _ in range(crowd)]
    wait_until(lambda: proxy.descriptors() >= crowd - 10, "the crowd is there")
    try:
        answer, _ = proxy.ask(request(), quiet=1.0)
        return str(answer)
    except OSError as error:
        return type(error).__name__
    finally:
        for each in held:
            each.close()


@case("5", "a newcomer where idle connections have taken every place")
def idle_crowd(stage):
    crowd = 60
    ours = stage.ours(max_connections=crowd)
    assert newcomer_among_idle(ours, crowd) == "200"
    before, stage.connections = stage.connections, crowd
    try:
        others = [stage.nginx(), stage.haproxy()]
    finally:
        stage.connections = before
    return ["200", *(newcomer_among_idle(proxy, crowd) if proxy else "-" for proxy in others)]


@case("5", "one connection more than max_connections_per_address")
def one_address(stage):
    ours = stage.ours(max_connections_per_address=5)
    held = [ours.connect() for _ in range(5)]
    clients = 'lastcall_ingress_connections{side="client"}'
    wait_until(lambda: metric(ours.world, clients) == 5, "five are there")
    # Whatever it says of itself, and whoever is believed: a connection has its peer's address.
    answer, _ = ours.ask(request("/v1/models", "X-Forwarded-For: 198.51.100.7"))
    for each in held:
        each.close()
    assert answer.final() == [503] and b"X-Lastcall-Reason: address" in answer.raw
    return str(answer)


@case("5", "a peer that begins 50 requests where 10 may live")
def greedy_peer(stage):
    one = stage.serving(ipc={"max_requests_per_peer": 10})
    peer, codes = one.peer(name="greedy"), []
    for number in range(50):
        try:
            peer.ask("request.begin", id=f"r{number}")
        except PeerError as error:
            codes.append(error.code)
    warnings = [each for each in one.records() if "live requests" in each["msg"]]
    assert codes == ["busy"] * 40 and len(warnings) == 1
    return "40 x busy, one warning"


@case("5", "an id that a client takes, and leaves with, of a request that came another way")
def an_id_of_another_way(stage):
    ours = stage.ours()
    user = ours.connect()
    user.sendall(request("/v1/completions", "X-Request-Id: r", "X-Hold: yes", "Content-Length: 0",
                         method="POST"))  # fmt: skip
    wait_until(ours.engine.take, "the engine has it")
    peer = ours.world.peer()
    peer.ask("request.begin", id="r", way="0")
    user.close()
    left = 'lastcall_cancels_total{reason="client_disconnect"}'
    wait_until(lambda: metric(ours.world, left) == 1, "the client is seen to leave")
    peer.ask("request.begin", id="later", root="r", way="0")
    for each in ("r", "later"):
        peer.ask("request.end", id=each, outcome="completed")
    assert not [line for line in peer.lines if line["op"] == "cancel"], peer.lines
    return "goes on"


@case("5", "memory after 300 slow readers with 32 kB of junk each, in kB above the start")
def memory_comes_back(stage):
    ours = stage.ours(max_buffer_memory=8 * 1024 * 1024)
    pid = ours.world.supervisor_pid()
    before = anonymous(pid)
    junk = request() * 200 + b"GET /v1/models HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 30_000
    held = []
    for _ in range(300):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", ours.port))
        reader.setblocking(False)
        with contextlib.suppress(OSError):
            reader.send(junk)
        held.append(reader)
    buffers = "lastcall_ingress_buffer_bytes"
    wait_until(lambda: metric(ours.world, buffers) > 300 * 4_096, "they hold memory")
    peak = anonymous(pid) - before
    assert ours.world.get("/livez")[0] == 200
    for reader in held:
        reader.close()
    wait_until(lambda: anonymous(pid) - before < 8_192, "it gives memory back")
    assert peak < 40_000, f"{peak} kB in the wave"
    return f"at most {peak // 1000} MB, then {max(anonymous(pid) - before, 0) // 1000} MB"


# --- 6: control paths ----------------------------------------------------------------------------


@case("6", "an operator's token for POST /sleep, which the engine does not see")
def operators_may(stage):
    ours = stage.ours(control_paths={"token": "opensesame"})
    asked = request("/sleep", "Content-Length: 0", "X-Lastcall-Token: opensesame", method="POST")
    answer, requests = ours.ask(asked)
    assert answer.final() == [200] and not requests[0].lines("x-lastcall-token")
    assert "opensesame" not in ours.world.log()
    return "200"


# --- 7: who a client is --------------------------------------------------------------------------


@case("7", "X-Forwarded-For and X-Real-IP of a client whom nobody trusts")
def a_stranger_is_nobodys_proxy(stage):
    ours = stage.ours(trusted_proxies=[])
    claims = [f"{name}: 198.51.100.7" for name in ("X-Forwarded-For", "X-Real-IP")]
    answer, requests = ours.ask(request("/v1/models", *claims))
    assert answer.final() == [200] and b"198.51.100.7" not in requests[0].head
    return "replaced"


# --- 7: TLS --------------------------------------------------------------------------------------


def tls_answer(proxy, context):
    """The status of a request over TLS, or the error of the handshake."""
    try:
        with context.wrap_socket(proxy.connect(), server_hostname="127.0.0.1") as secure:
            secure.sendall(request())
            return str(receive(secure, 1.0))
    except ssl.SSLError as error:
        return (error.reason or "refused").lower().replace("_", " ")
    except OSError:
        return "closed"


def tls_stage(stage, **tls):
    """Authority and the three proxies with certificates of it; each asks clients for theirs."""
    authority = Authority(stage.subfolder())
    certificate, key = authority.sign("server", kind=("-newkey", "rsa:2048", "-nodes"))
    pem = os.path.join(authority.directory, "both.pem")
    with open(pem, "w") as both:
        for part in (certificate, key):
            with open(part) as file:
                both.write(file.read())
    asks = bool(tls)
    ours = stage.ours(tls={"cert_file": certificate, "key_file": key, **{
        name: authority.certificate for name in tls}})  # fmt: skip
    nginx = f" ssl; ssl_certificate {certificate}; ssl_certificate_key {key}"
    haproxy = f" ssl crt {pem}"
    if asks:
        nginx += f"; ssl_client_certificate {authority.certificate}; ssl_verify_client on"
        haproxy += f" ca-file {authority.certificate} verify required"
    return authority, [ours, stage.nginx(nginx), stage.haproxy(haproxy)]


def of_all(proxies, context):
    return [tls_answer(proxy, context) if isinstance(proxy, Proxy) else "-" for proxy in proxies]


@case("7", "key exchange by RSA (TLS 1.2, AES128-GCM-SHA256)")
def no_rsa_key_exchange(stage):
    authority, proxies = tls_stage(stage)
    context = authority.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-GCM-SHA256")
    found = of_all(proxies, context)
    assert not found[0].startswith("200")
    return found


@case("7", "TLS 1.1")
def no_old_version(stage):
    authority, proxies = tls_stage(stage)
    context = authority.client_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    found = of_all(proxies, context)
    assert not found[0].startswith("200")
    return found


@case("7", "no client certificate, where one is required")
def client_certificate_required(stage):
    authority, proxies = tls_stage(stage, client_ca_file=True)
    found = of_all(proxies, authority.client_context())
    assert not found[0].startswith("200")
    known = of_all(proxies, authority.client_context(*authority.sign("user")))
    assert known[0].startswith("200")
    return [f"{none}; with one {one}" for none, one in zip(found, known, strict=True)]


@case("7", "a certificate that is not there, at the start")
def an_error_names_file_and_cause(stage):
    authority = Authority(stage.subfolder())
    certificate, key = authority.sign("server")
    os.remove(key)
    one = stage.world(ingress={"listen": "127.0.0.1:0", "upstream": "127.0.0.1:9",
                               "tls": {"cert_file": certificate, "key_file": key}})  # fmt: skip
    assert one.serve().wait(PATIENCE) == 1
    said = f"cannot use the key in {key}: No such file or directory"
    assert said in one.log()
    return "exit 1, the file and the cause"


# --- 10: the audit trail -------------------------------------------------------------------------


@case("10", "an operator's order in the log, with uid, pid, command and effect")
def an_order_is_recorded(stage):
    one = stage.serving()
    one.operator().ask("drain", exit=False, timeout_ms=60_000)
    one.wait_for_log("operator's order")
    [said] = [each for each in one.records() if each["msg"] == "operator's order"]
    assert (said["uid"], said["pid"]) == (os.geteuid(), os.getpid())
    assert said["command"].startswith("drain") and said["effect"] == "done"
    return f"uid {said['uid']}, pid, {said['command']}: {said['effect']}"
