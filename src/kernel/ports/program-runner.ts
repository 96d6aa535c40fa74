/** Running a helper program of ours (ripgrep), its output read line by line. Not for anything a model wrote: see `CommandRunner`. */

export interface ProgramRequest {
  /** Absolute path. */
  readonly program: string;
  readonly arguments: readonly string[];
  /** Its working directory. */
  readonly directory: string;
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Called for each whole line of its output, without the line's end; `stop` ends the program. */
  onLine(line: string): 'go-on' | 'stop';
}

export interface ProgramEnd {
  /** undefined when it was ended by a signal, ours included. */
  readonly exitCode?: number;
  /** The beginning of what it wrote to stderr. */
  readonly stderr: string;
  /** `onLine` ended it. */
  readonly stopped: boolean;
}

/** Ends the program on abort and waits until it is gone. @throws the signal's reason; {Fault} `program_not_started` */
export type RunProgram = (request: ProgramRequest, signal: AbortSignal) => Promise<ProgramEnd>;
