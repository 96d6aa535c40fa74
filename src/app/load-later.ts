/** What most calls never ask for: each is loaded by the first that does (docs/adr/0038-quick-start.md). */
import type { CommandRunnerOptions } from '#execution/command-ground';
import type { PolicyView } from '#kernel/policy-view';
import type { CommandRunner } from '#kernel/ports/command-runner';
import type { doctor as loadedDoctor } from './doctor.ts';
import type { PolicyViewParts } from './replay/policy-view.ts';

/** The sandbox, and the view that runs are judged by. */
export function laterRunner(options: CommandRunnerOptions): CommandRunner {
  const runner = once(async () => (await import('#execution/command-runner')).createCommandRunner(options));
  return {
    status: async (again) => (await runner()).status(again),
    run: async (...given) => (await runner()).run(...given),
    history: async () => (await runner()).history?.(),
    journal: async () => (await (await runner()).journal?.()) ?? 'nothing is kept here',
  };
}

/** Replays, and the matrix of who may do what. */
export function laterPolicyView(parts: PolicyViewParts): PolicyView {
  const view = once(async () => (await import('./replay/policy-view.ts')).createPolicyView(parts));
  return {
    matrix: async (agent) => (await view()).matrix(agent),
    settings: async () => (await view()).settings(),
    replay: async (edited, options) => (await view()).replay(edited, options),
  };
}

/** The findings of `banksman doctor`. */
export const doctor: typeof loadedDoctor = async (...given) => (await import('./doctor.ts')).doctor(...given);

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
