/** What the command line takes. */

export const usage = `banksman: the agent tool layer for Proxmox VE clusters and code

  banksman tools [--format json|mcp|ollama] [--group cluster|workspace|security]
  banksman call TOOL --input JSON [--model NAME] [--json]
  banksman policy check [--root DIR]        (JSON Lines in, JSON Lines out)
  banksman policy explain TOOL --input JSON [--model NAME] [--json]
  banksman audit tail [--count N] [--json]
  banksman audit verify [--json]
  banksman sandbox stats [--json]
  banksman sandbox clean [--all] [--json]
  banksman doctor [--json]
  banksman demo [--port N]
  banksman mcp
  banksman serve --http HOST:PORT [--sse] [--tls-cert FILE --tls-key FILE] [--allow-host NAME]… [--allow-origin ORIGIN]…
  banksman tokens list [--json]
  banksman tokens create NAME [--tier basic|intermediate|advanced] [--expires 90d|12h|never] [--json]
  banksman tokens revoke NAME

Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE]
  --help, --version

Exit status of call: 0 ok, 1 error, 2 denied, 3 pending.
`;
