# Nomad kills a task 5 s after the signal unless kill_timeout says otherwise, and caps that by the client's
# max_kill_timeout (30 s): raise that one too.
job "engine" {
  type = "service"

  group "engine" {
    network {
      port "http" { static = 8000 }
      port "probes" { static = 7090 }
    }

    # The service leaves the catalog first; lastcall serves what still comes meanwhile.
    service {
      name     = "engine"
      port     = "http"
      provider = "nomad"
      check {
        type     = "http"
        port     = "probes"
        path     = "/readyz"
        interval = "2s"
        timeout  = "1s"
      }
    }

    task "engine" {
      driver       = "docker"
      kill_signal  = "SIGTERM"
      kill_timeout = "62s"
      config {
        image = "engine-with-lastcall:latest"
        args  = ["vllm", "serve", "Qwen/Qwen3-0.6B"]
        ports = ["http", "probes"]
      }
      env {
        LASTCALL_POD_GRACE_SECONDS = "62"
      }
      resources {
        cpu    = 4000
        memory = 16384
      }
    }
  }
}
