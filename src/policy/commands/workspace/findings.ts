/** What the walk over a command found, as decisions with their places. */
import { ask, type Decision, deny } from '#kernel/decision';
import { placed } from '../command-decision.ts';

export type Concern =
  | 'unclear'
  | 'unknown_program'
  | 'network_blocked'
  | 'PATH_OUTSIDE_WORKSPACE'
  | 'SYMLINK_OUTSIDE_WORKSPACE'
  | 'SECRET_FILE'
  | 'SECRET_VARIABLE'
  | 'CONTROL_FILE'
  | 'NOT_A_REGULAR_FILE'
  | 'background'
  | 'runs_other_code'
  | 'environment'
  | 'destructive'
  | 'never_ends';

/** A person may still allow it. */
export function askFor(concern: Concern, offset: number, message: string): Decision {
  return ask(concern, placed(offset, message), [`workspace.${concern.toLowerCase().replaceAll('_', '-')}`]);
}

/** Nobody may: the rule names what it is. */
export function refuseFor(rule: string, offset: number, message: string): Decision {
  return deny('COMMAND_BLOCKED', placed(offset, message), [`workspace.${rule}`]);
}

const unknownVerb = 'workspace.unknown-verb';

/** A known program's verb that no rule names. */
export function askForVerb(offset: number, message: string): Decision {
  return ask('unknown_program', placed(offset, message), ['workspace.unknown-program', unknownVerb]);
}

/** Whether no rule names the program itself: what a project's runner finds is a script of the project then. */
export function isUnknownProgram({ code, rules }: Decision): boolean {
  return code === 'unknown_program' && !rules.includes(unknownVerb);
}
