/** A coding agent's own tools, by what they do, as its hook has them judged. */

/** The names that the trail, requests and people's rules have for them. */
export const agentToolNames = {
  shell: 'agent_shell',
  run: 'agent_run',
  write: 'agent_write',
  read: 'agent_read',
  fetch: 'agent_fetch',
  start: 'agent_start',
  other: 'agent_tool',
  quiet: 'agent_quiet',
} as const;
export type AgentCallKind = keyof typeof agentToolNames;

/** What becomes of a command line in an agent's own shell, which runs outside of sandbox, view and journal. */
export const ownShellModes = ['through-run', 'ask', 'allow'] as const;
/**
 * `through-run`: only `banksman run`, and what a person's rule allows; `ask`: a person is asked for all else; `allow`: all else runs, for an agent
 * whose own sandbox is on.
 */
export type OwnShellMode = (typeof ownShellModes)[number];
