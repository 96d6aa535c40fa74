import type { ProgramRunner } from '#kernel/ports/program-runner';
import { runChild } from './run-child.ts';

/** Programs of the host, started as they are named: for what is no command of a model (ripgrep, the probe of the sandbox). */
export const programRunner: ProgramRunner = {
  run: async (request, signal, onOutput) => {
    signal.throwIfAborted();
    const { end, exitCode, signal: by, ...output } = await runChild(request, signal, { onOutput });
    if (end === 'abort') throw signal.reason;
    return {
      ...output,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(by === undefined ? {} : { signal: by }),
      timedOut: end === 'timeout',
      flooded: end === 'output',
    };
  },
};
