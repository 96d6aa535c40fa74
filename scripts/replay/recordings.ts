/** Recordings of a real cluster, as files hold them. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export interface RecordedGuest {
  readonly node: string;
  readonly kind: 'qemu' | 'lxc';
  readonly status: string;
  /** The configuration file. */
  readonly config: string;
}

export interface Recording {
  readonly name: string;
  readonly family: string;
  readonly seq?: number;
  /** The request whose task this one is about: its `seq`. */
  readonly of?: number;
  readonly phase?: 'node-down' | 'no-quorum';
  readonly note?: string;
  /** A list that was cut: how many rows there were. */
  readonly rowsInAll?: number;
  readonly before?: Readonly<Record<string, RecordedGuest | null>>;
  readonly after?: Readonly<Record<string, RecordedGuest | null>>;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly auth?: string;
    /** The node that was asked; Home where it does not say. */
    readonly via?: string;
    readonly form?: Readonly<Record<string, string>>;
    readonly json?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly statusMessage?: string;
    readonly contentType?: string | null;
    readonly body: unknown;
  };
}

export interface RecordedFile {
  readonly recordings: readonly Recording[];
  /** Path → content of configuration files; undefined: the file has none, the lab's own counts. */
  readonly fixture: Readonly<Record<string, string>> | undefined;
}

type Loose = Omit<Recording, 'name' | 'family'> & { readonly name?: string; readonly family?: string };

/** Reads a file in any of the two forms: a list, or `{ exchanges, fixture }`; packed where its name says so. */
export function readRecordings(path: string): RecordedFile {
  const bytes = readFileSync(path);
  const parsed = JSON.parse((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')) as
    | readonly Loose[]
    | { readonly exchanges: readonly Loose[]; readonly fixture?: Readonly<Record<string, string>> };
  const rows = 'exchanges' in parsed ? parsed.exchanges : parsed;
  return { recordings: rows.map(named), fixture: 'exchanges' in parsed ? parsed.fixture : undefined };
}

function named(row: Loose): Recording {
  return { ...row, name: row.name ?? `${row.request.method} ${row.request.path}`, family: row.family ?? row.phase ?? 'basic' };
}

/** The `data` of a recorded answer. */
export function dataOf(recording: Recording): unknown {
  const { body } = recording.response;
  return typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined;
}

/** Scalars; the few objects inside are cast where they are read. */
export type Fields = Readonly<Record<string, string | number | null | undefined>>;

/** The fields of a recorded answer's `data`, empty where it is no object. */
export function fieldsOf(recording: Recording): Fields {
  const data = dataOf(recording);
  return typeof data === 'object' && data !== null ? (data as Fields) : {};
}

/** The rows of a recorded list. */
export function rowsOf(recording: Recording): readonly Fields[] {
  const data = dataOf(recording);
  return Array.isArray(data) ? data.filter((row): row is Fields => typeof row === 'object' && row !== null) : [];
}
