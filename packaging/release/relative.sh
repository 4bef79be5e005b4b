#!/bin/sh
# Starts a compiler with the folder of the sources as ../..: relative.sh FOLDER COMMAND...
#
# For ninja in build/NAME. clang 16 maps the folder in debug information and __FILE__
# (-ffile-prefix-map), but not in the name of a lambda, which an assertion of a library shows
# ("... [Handler = (lambda at .../lastcall/probes/...)]"). A compiler that never reads the
# folder's name cannot write it.
set -eu
folder=$1
shift
for word; do
  shift
  case $word in
    "$folder" | "$folder"/*) word=../..${word#"$folder"} ;;
    -I"$folder" | -I"$folder"/*) word=-I../..${word#-I"$folder"} ;;
    --sysroot="$folder"/*) word=--sysroot=../..${word#--sysroot="$folder"} ;;
  esac
  set -- "$@" "$word"
done
exec "$@"
