/** The private directory of one demo run: token, client key, known_hosts, CA. Gone when the demo ends. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DemoFiles {
  readonly directory: string;
  /** Writes a file that only its owner can read, and returns its path. */
  write(name: string, content: string): Promise<string>;
  remove(): Promise<void>;
}

/** SECURITY: the directory is made by `mkdtemp` with mode 0700, the files with 0600; nothing in it outlives `remove`. */
export async function createDemoFiles(): Promise<DemoFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'banksman-demo-'));
  await chmod(directory, 0o700);
  return {
    directory,
    async write(name, content) {
      const path = join(directory, name);
      await writeFile(path, content, { mode: 0o600 });
      await chmod(path, 0o600);
      return path;
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
