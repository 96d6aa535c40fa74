/** An empty file and an empty directory that nobody may open, to be laid over what a command must not see. */
import { chmodSync, closeSync, constants, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface Masks {
  /** Descriptors (O_PATH), valid until `release`. */
  readonly file: number;
  readonly directory: number;
  /** The same two, by their paths. */
  readonly places: { readonly file: string; readonly directory: string };
  release(): void;
}

const pathOnly = 0o10000000;

/**
 * Mode 0 instead of `/dev/null`: a program that opens it gets "permission denied" rather than an empty file, and git refuses to commit
 * it as a change. @param stateDir where they are kept, outside every workspace
 */
export function openMasks(stateDir: string): Masks {
  const folder = path.join(stateDir, 'sandbox');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, 'masked-file');
  const directory = path.join(folder, 'masked-directory');
  writeEmpty(file);
  mkdirSync(directory, { recursive: true, mode: 0 });
  chmodSync(directory, 0);
  const descriptors = [file, directory].map((entry) => openSync(entry, pathOnly | constants.O_NOFOLLOW));
  const [fileDescriptor = -1, directoryDescriptor = -1] = descriptors;
  return {
    file: fileDescriptor,
    directory: directoryDescriptor,
    places: { file, directory },
    release: () => {
      for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
    },
  };
}

function writeEmpty(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0, flag: 'wx' });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    chmodSync(file, 0);
  }
}
