/**
 * The command inside. A bash is process 1: it waits for its start, sets the limits on itself, starts the bash that runs the text and collects
 * what is left behind. SECURITY: bubblewrap's own process 1 would be a link to a program of the host (`/proc/1/exe`) that root could change.
 */

import { commandLanguage } from './clean-environment.ts';
import { gateDescriptor } from './sandbox-arguments.ts';

export interface ProcessLimits {
  /** Largest file that can be written. */
  readonly fileBytes: number;
  /** Processes and threads in the sandbox; the kernel holds root to it by a control group only. */
  readonly tasks: number;
  readonly openFiles: number;
  /** CPU time of one process. */
  readonly cpuSeconds: number;
}

/** Whatever it is: nobody is left to see it. */
const notStartedCode = 125;

/** SECURITY: what this process inherited open from whoever started it would reach the command; a directory of the host's is a way out. */
const closeAll = `for fd in /proc/self/fd/*; do (( \${fd##*/} > 2 )) && all+=" \${fd##*/}<&-"; done; eval "exec$all"; unset fd all`;

/**
 * No RLIMIT_AS and no RLIMIT_DATA: V8, Go, the JVM and sanitizers reserve far more addresses than memory; what the tree really uses is looked
 * at from outside. Set inside, because RLIMIT_NPROC counts per user namespace, and outside it would count the person's own processes. A limit
 * that is lower already stays.
 */
export function limitedCommand(text: string, limits: ProcessLimits): readonly string[] {
  const settings = [
    ['c', 0],
    // In units of 1,024 bytes.
    ['f', Math.ceil(limits.fileBytes / 1_024)],
    ['u', limits.tasks],
    ['n', limits.openFiles],
    ['t', limits.cpuSeconds],
  ];
  const script = [
    `read -r -n 1 -u ${gateDescriptor} || exit ${notStartedCode}`,
    closeAll,
    // SECURITY: not the host's, whose mode root could change by its descriptor. Its own words about the child's end are none of the command's.
    'exec </dev/null 9>&2 2>/dev/null',
    ...settings.map(([letter, value]) => `ulimit -${letter} ${value}`),
    `LANG=${commandLanguage} /bin/bash --noprofile --norc -c "$1" 2>&9 9>&-`,
    'exit $?',
  ];
  return ['/bin/bash', '--noprofile', '--norc', '-c', script.join('; '), 'bash', text];
}
