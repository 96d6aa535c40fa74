/** The command inside: bash sets the limits on itself and becomes the bash that runs the text. */

export interface ProcessLimits {
  /** Largest file that can be written. */
  readonly fileBytes: number;
  /** Largest private memory of one process. */
  readonly processMemoryBytes: number;
  /** Of one user's processes in the sandbox; the kernel does not hold root to it. */
  readonly processes: number;
  readonly openFiles: number;
  /** CPU time of one process. */
  readonly cpuSeconds: number;
}

/**
 * RLIMIT_DATA, not RLIMIT_AS: V8, Go and the JVM reserve far more addresses than memory. Set inside, because RLIMIT_NPROC counts per
 * user namespace, and outside it would count the person's own processes. A limit that is lower already stays.
 */
export function limitedCommand(text: string, limits: ProcessLimits): readonly string[] {
  const settings = [
    ['c', 0],
    // In units of 1,024 bytes.
    ['f', Math.ceil(limits.fileBytes / 1_024)],
    ['d', Math.ceil(limits.processMemoryBytes / 1_024)],
    ['u', limits.processes],
    ['n', limits.openFiles],
    ['t', limits.cpuSeconds],
  ];
  const script = settings.map(([letter, value]) => `ulimit -${letter} ${value} 2>/dev/null;`).join(' ');
  return ['/bin/bash', '--noprofile', '--norc', '-c', `${script} exec /bin/bash --noprofile --norc -c "$1"`, 'bash', text];
}
