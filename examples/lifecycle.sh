#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
name=ticket-$$                                    # known before the session is, so that the trap can name it
finish() {
  status=$?
  sandbox cp "$name:output/report.md" report.md || true   # the report comes out even when the work failed
  sandbox destroy --ignore-missing "$name" || status=1
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
sandbox create -f examples/ticket.yaml --name "$name" >/dev/null
sandbox exec "$name" ./work.sh
