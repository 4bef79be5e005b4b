"""Workers come and go with the files of a directory, and stay when it cannot be read."""

import json
import os
import signal

import pytest
from raw_engine import ok, post
from router_world import BODY, asks
from serve_peer import wait_until


def write(directory, name, engine, model="m"):
    path = os.path.join(directory, name)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump({"instance_id": 7, "advertise": f"http://{engine.address}", "model": model}, file)
    os.rename(path + ".tmp", path)


def test_workers_follow_their_files(router, engines, tmp_path):
    directory = tmp_path / "instances"
    directory.mkdir()
    write(directory, "1a.json", engines[0])
    one = router({"file": {"directory": str(directory)}})
    asks(one, engines[0])
    write(directory, "2b.json", engines[1])
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "two are known")
    (directory / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "one is known")
    for _ in range(5):
        asks(one, engines[1])
    assert not engines[0].has_arrived()


def test_requests_on_a_worker_that_leaves_go_on(router, engines, tmp_path):
    write(tmp_path, "1a.json", engines[0])
    one = router({"file": {"directory": str(tmp_path)}})
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engines[0].request()
    wire.until(BODY)
    (tmp_path / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 0, "it has left")
    assert one.operator("/readyz")[0] == 503
    wire.send(ok(b"hello"))
    user.until(b"hello")
    assert wire.ended()  # not kept for a next request


def test_a_file_that_names_no_worker_is_reported_and_skipped(router, engines, tmp_path):
    write(tmp_path, "1a.json", engines[0])
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "worse.json").write_text('{"advertise": "nats://h:1"}')
    (tmp_path / "path.json").write_text('{"advertise": "http://10.0.0.1:1/prefix"}')
    (tmp_path / ".hidden.json").write_text("{")
    one = router({"file": {"directory": str(tmp_path)}})
    asks(one, engines[0])
    assert one.log().count("skipping an entry that is not a worker") == 3


def test_a_pipe_among_the_files_of_workers_holds_nobody_up(router, engines, tmp_path):
    write(tmp_path, "1a.json", engines[0])
    os.mkfifo(tmp_path / "before.json")
    (tmp_path / "long.json").write_text(" " * 100_000 + "{}")
    one = router({"file": {"directory": str(tmp_path)}})
    asks(one, engines[0])
    os.mkfifo(tmp_path / ".made")
    os.rename(tmp_path / ".made", tmp_path / "later.json")
    line = "skipping an entry that is not a worker"
    wait_until(lambda: one.log().count(line) == 3, "all are reported")
    asks(one, engines[0])


def test_a_directory_that_goes_away_leaves_the_workers_known(router, engines, tmp_path):
    directory = tmp_path / "instances"
    one = router({"file": {"directory": str(directory)}})
    assert one.metric("lastcall_router_workers") == 0
    directory.mkdir()
    write(directory, "1a.json", engines[0])
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "it is found", patience=20)
    os.rename(directory, tmp_path / "elsewhere")
    wait_until(lambda: one.metric("lastcall_router_source_failing") == 1, "it is told")
    asks(one, engines[0])
    os.rename(tmp_path / "elsewhere", directory)
    wait_until(lambda: one.metric("lastcall_router_source_failing") == 0, "it is back")
    asks(one, engines[0])


@pytest.mark.plain_build  # sanitizers open descriptors for their own checks
@pytest.mark.parametrize("free", [0, 1], ids=["no_directory", "no_file"])
def test_a_router_without_descriptors_keeps_its_workers_and_looks_again(
    router, engines, tmp_path, free
):
    write(tmp_path, "1a.json", engines[0])
    one = router({"file": {"directory": str(tmp_path)}})
    with one.short_of_descriptors(free):
        write(tmp_path, "2b.json", engines[1])
        wait_until(lambda: "cannot read a source of workers" in one.log(), "it is reported")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "two are known")
    assert one.metric("lastcall_router_source_failing") == 0
    assert one.metric("lastcall_router_workers_left_total") == 0
    assert "skipping an entry" not in one.log()
    (tmp_path / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "changes are seen again")


def test_links_to_files_count_as_soon_as_they_are_made(router, engines, tmp_path):
    directory, elsewhere = tmp_path / "instances", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.mkdir()
    write(elsewhere, "1a.json", engines[0])
    write(elsewhere, "2b.json", engines[1])
    one = router({"file": {"directory": str(directory)}})
    (directory / "1a.json").symlink_to(elsewhere / "1a.json")
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "the symbolic link is seen")
    os.link(elsewhere / "2b.json", directory / "2b.json")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "the hard link is seen")


def test_a_file_that_is_being_written_is_not_reported(router, engines, tmp_path):
    one = router({"file": {"directory": str(tmp_path)}})
    with open(tmp_path / "1a.json", "w", encoding="utf-8") as file:
        file.write('{"advertise": ')
        file.flush()
        write(tmp_path, "2b.json", engines[1])
        wait_until(lambda: one.metric("lastcall_router_workers") == 1, "the other one is seen")
        file.write(f'"http://{engines[0].address}", "model": "m"}}')
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "it is seen")


def test_a_map_of_kubernetes_is_followed(router, engines, tmp_path):
    """The kubelet repoints `..data`, and then makes links for new files."""
    for version in ("..1", "..2"):
        (tmp_path / version).mkdir()
    write(tmp_path / "..1", "1a.json", engines[0])
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "1a.json").symlink_to("..data/1a.json")
    one = router({"file": {"directory": str(tmp_path)}})
    assert one.metric("lastcall_router_workers") == 1
    write(tmp_path / "..2", "1a.json", engines[1], model="n")
    (tmp_path / "..data_tmp").symlink_to("..2")
    os.rename(tmp_path / "..data_tmp", tmp_path / "..data")
    wait_until(lambda: b'"n"' in one.ask("GET", "/v1/models")[2], "its content is another")
    write(tmp_path / "..2", "2b.json", engines[0])
    (tmp_path / "2b.json").symlink_to("..data/2b.json")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "the new link is seen")


def test_a_link_to_a_directory_may_be_repointed(router, engines, tmp_path):
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
    write(tmp_path / "v1", "1a.json", engines[0])
    write(tmp_path / "v2", "1a.json", engines[0])
    write(tmp_path / "v2", "2b.json", engines[1])
    (tmp_path / "now").symlink_to("v1")
    one = router({"file": {"directory": str(tmp_path / "now")}})
    (tmp_path / "next").symlink_to("v2")
    os.rename(tmp_path / "next", tmp_path / "now")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "the other one is read")
    (tmp_path / "v2" / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "and followed")
    assert "cannot read a source" not in one.log()


def test_a_source_that_fails_for_another_reason_reports_that_too(router, engines, tmp_path):
    directory = tmp_path / "instances"
    directory.mkdir()
    write(directory, "1a.json", engines[0])
    one = router({"file": {"directory": str(directory)}})
    os.rename(directory, tmp_path / "elsewhere")
    wait_until(lambda: "No such file" in one.log(), "the first reason is reported")
    directory.write_text("")
    wait_until(lambda: "Not a directory" in one.log(), "the second one is reported")
    assert "Not a directory" in one.operator("/readyz?verbose")[1]
    assert one.log().count("cannot read a source of workers") == 2
    directory.unlink()
    os.rename(tmp_path / "elsewhere", directory)
    wait_until(lambda: one.metric("lastcall_router_source_failing") == 0, "it is back")


def test_a_worker_whose_model_changes_is_another_one(router, engines, tmp_path):
    write(tmp_path, "1a.json", engines[0])
    one = router({"file": {"directory": str(tmp_path)}})
    write(tmp_path, "1a.json", engines[0], model="n")
    wait_until(
        lambda: json.loads(one.ask("GET", "/v1/models")[2])["data"][0]["id"] == "n", "it is known"
    )


def test_a_directory_in_place_of_another_is_followed(router, engines, tmp_path):
    directory, new = tmp_path / "instances", tmp_path / "new"
    directory.mkdir()
    new.mkdir()
    one = router({"file": {"directory": str(directory)}})
    one.process.send_signal(signal.SIGSTOP)  # it sees both changes at once
    os.rename(directory, tmp_path / "old")
    os.rename(new, directory)
    one.process.send_signal(signal.SIGCONT)
    write(directory, "1a.json", engines[0])
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "one is known")
    write(directory, "2b.json", engines[1])
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "two are known")


def test_a_model_whose_last_worker_left_asks_clients_to_come_again(router, engines, tmp_path):
    write(tmp_path, "1a.json", engines[0])
    write(tmp_path, "2b.json", engines[1], model="n")
    one = router({"file": {"directory": str(tmp_path)}})
    assert one.ask("POST", "/v1/completions", {"model": "x"})[0] == 404
    (tmp_path / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "it has left")
    status, head, body = one.ask("POST", "/v1/completions", {"model": "m"})
    assert (status, head["X-Lastcall-Reason"]) == (503, "no_worker")
    assert int(head["Retry-After"]) >= 1
    assert json.loads(body)["error"]["retryable"]
    assert one.ask("POST", "/v1/completions", {"model": "x"})[0] == 404
    write(tmp_path, "1a.json", engines[0])
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "it is back")
    asks(one, engines[0])


def test_a_model_is_described_as_a_request_for_it_would_be_answered(router, engines, tmp_path):
    one = router({"file": {"directory": str(tmp_path)}})

    def compared(model):
        """What both ways answer, apart from the ids of the requests."""
        answers = (one.ask("GET", f"/v1/models/{model}"),
                   one.ask("POST", "/v1/completions", {"model": model}))  # fmt: skip
        seen = [
            (status, head["X-Lastcall-Reason"], "Retry-After" in head, head["x-should-retry"],
             {**json.loads(body)["error"], "request_id": None})
            for status, head, body in answers
        ]  # fmt: skip
        assert seen[0] == seen[1]
        return seen[0][:4]

    waits, unknown = (503, "no_worker", True, "true"), (404, None, False, None)
    assert compared("m") == waits  # no worker is known: nothing is known about any model
    assert one.ask("HEAD", "/v1/models/m")[0] == 503
    assert one.ask("GET", "/v1/models")[0] == 200
    write(tmp_path, "1a.json", engines[0])
    write(tmp_path, "2b.json", engines[1], model="n")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "both are known")
    assert compared("x") == unknown
    (tmp_path / "1a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "it has left")
    assert compared("m") == waits
    assert compared("x") == unknown
    assert one.ask("GET", "/v1/models/n")[0] == 200


def test_sources_that_disagree_about_a_model_are_reported_once(router, engines, tmp_path):
    for name, model in (("one", "m"), ("two", "n")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "1a.json", engines[0], model=model)
    first, second = str(tmp_path / "one"), str(tmp_path / "two")
    one = router({"file": {"directory": first}}, {"file": {"directory": second}})

    def reports():
        return [json.loads(each) for each in one.log().splitlines() if "different models" in each]

    wait_until(reports, "it is reported")
    write(tmp_path / "two", "2b.json", engines[1], model="m")
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "two are known")
    [report] = reports()
    assert report["level"] == "WARNING"
    found = {key: report[key] for key in ("worker", "source", "model", "other_source",
                                          "other_model", "workers")}  # fmt: skip
    assert found == {
        "worker": f"http://{engines[0].address}", "source": first, "model": "m",
        "other_source": second, "other_model": "n", "workers": 1,
    }  # fmt: skip
    write(tmp_path / "two", "1a.json", engines[0], model="other")
    wait_until(lambda: len(reports()) == 2, "the change is reported")
    assert b'"other"' not in one.ask("GET", "/v1/models")[2]
