# fish completion for lastcall-router
complete -c lastcall-router -f
complete -c lastcall-router -s h -l help -d 'Print this help message and exit'
complete -c lastcall-router -n __fish_use_subcommand -l version \
  -d 'Display program version information and exit'
complete -c lastcall-router -s c -l config -r -F -d Configuration
complete -c lastcall-router -l set -x -d 'Override one key; may be repeated'
complete -c lastcall-router -n __fish_use_subcommand -a check \
  -d 'Check the configuration and print every problem'
