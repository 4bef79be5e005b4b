# bash completion for lastcall-router
_lastcall_router() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} word
  local words='-h --help --version -c --config --set check'
  COMPREPLY=()
  # bash takes `--config=x` for three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' && $COMP_CWORD -gt 1 ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == check ]]; then
      words='-h --help -c --config --set'
    fi
  done
  case $before in
    -c | --config)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    --set) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
  esac
}
complete -F _lastcall_router lastcall-router
