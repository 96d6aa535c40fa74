/** Measuring one kind of call, the same way for everybody. */
export interface Figures {
  readonly calls: number;
  /** In ms. */
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
}

export interface Load {
  /** Calls that warm up and are not counted. */
  readonly warmUp: number;
  readonly calls: number;
  readonly atOnce: number;
  /** Stops early once this has passed, in ms. */
  readonly limitMs: number;
}

/** @param call rejects when the answer is not the expected one */
export async function measure(call: (index: number) => Promise<void>, { warmUp, calls, atOnce, limitMs }: Load): Promise<Figures> {
  for (let index = 0; index < warmUp; index += 1) await call(index);
  const times: number[] = [];
  const startedAt = performance.now();
  let next = warmUp;
  const worker = async () => {
    while (next < warmUp + calls && performance.now() - startedAt < limitMs) {
      const index = next;
      next += 1;
      const begun = performance.now();
      await call(index);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  return { ...quantiles(times), calls: times.length, perSecond: times.length / seconds };
}

export function quantiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Three significant digits. */
export function figure(value: number): string {
  return Number.isNaN(value) ? '-' : String(Number(value.toPrecision(3)));
}

/** Resident memory of a process in MB (Linux; elsewhere not known). @param peak the most that it was so far */
export async function residentMb(pid: number, peak = false): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number((peak ? /VmHWM:\s+(\d+) kB/ : /VmRSS:\s+(\d+) kB/).exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Processor time that a process has had, in ms (Linux; elsewhere not known). */
export async function processorMs(pid: number): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // utime and stime (proc(5)), in hundredths of a second; the name before them may hold anything but a closing bracket last.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * 10;
}
