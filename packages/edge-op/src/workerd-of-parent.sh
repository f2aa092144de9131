#!/bin/sh
# Runs workerd ($EDGE_OP_WORKERD) in this process, and ends it when the process that started it is gone: SIGKILL of Node
# runs no handler, and a workerd left behind would keep the ports. The watcher ends with workerd.
(
  trap '' INT TERM HUP
  while kill -0 "$$"; do
    kill -0 "$PPID" || kill -KILL "$$"
    sleep 0.5
  done
) </dev/null >/dev/null 2>&1 3>&- &
[ -z "$EDGE_OP_WORKERD_PID_FILE" ] || echo "$$" >"$EDGE_OP_WORKERD_PID_FILE"
exec "$EDGE_OP_WORKERD" "$@"
