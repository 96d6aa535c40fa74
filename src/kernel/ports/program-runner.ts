/** Starting another program: exact arguments, an environment of its own, capped output, and nothing of it left afterwards. */

export interface ProgramRequest {
  /** An absolute path, or a name that is looked up in `env.PATH`. Never a shell. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Exactly this is the program's environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input; empty when left out. */
  readonly input?: string;
  /** Open files of ours that it gets as its descriptors 3, 4, …, in this order. */
  readonly descriptors?: readonly number[];
  /** In ms. */
  readonly timeoutMs: number;
  /** Bytes kept of each stream, half of them from the start and half from the end. */
  readonly keepBytes: number;
  /** Bytes of both streams together after which the program is stopped; unlimited when left out. */
  readonly stopAfterBytes?: number;
}

export interface ProgramResult {
  /** Bytes that are not UTF-8 are U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
  /** undefined when a signal ended it. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly timedOut: boolean;
  /** It was stopped because it wrote more than `stopAfterBytes`. */
  readonly flooded: boolean;
  /** A stream was longer than `keepBytes`. */
  readonly truncated: boolean;
}

/** Called with whole characters, in the order in which they arrive. */
export type OnProgramOutput = (chunk: string, stream: 'stdout' | 'stderr') => void;

export interface ProgramRunner {
  /**
   * Resolves once the program and its whole process group have ended, whatever its exit code. On abort the group is killed first, then
   * it rejects with the signal's reason. @throws {Fault} `program_not_started`
   */
  run(request: ProgramRequest, signal: AbortSignal, onOutput?: OnProgramOutput): Promise<ProgramResult>;
}
