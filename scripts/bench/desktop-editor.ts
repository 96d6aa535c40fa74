import { readFileSync } from 'node:fs';
import path from 'node:path';
import { cleanEnv } from '../lib/clean-env.mjs';
import { runCommand } from '../lib/run-command.mjs';
import { type ChatModel, createProfile, type EditorProfile, type Settings, writeChatModel, writeSettings } from './editor-profile.ts';
import { spawnLeashed } from './leashed.ts';

export interface DesktopOptions {
  /** The `code` command. */
  readonly command: string;
  readonly profileDir: string;
  readonly folder: string;
  readonly extensions: readonly string[];
  readonly settings: Settings;
  readonly chatModel: ChatModel;
  readonly env: Readonly<Record<string, string>>;
}

export interface DesktopEditor {
  /** Resolves when the window has been closed. */
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
}

/** Opens a window of the desktop editor with a profile of its own; the person's is not touched. */
export async function startDesktopEditor(options: DesktopOptions): Promise<DesktopEditor> {
  const profile = createProfile(options.profileDir);
  // Here settings of scope `machine` are read from the user's own file.
  writeSettings(profile, options.settings, {});
  writeChatModel(profile, options.chatModel);
  const env = cleanEnv(options.env);
  const common = ['--user-data-dir', profile.data, '--extensions-dir', profile.extensions];
  // Chromium's sandbox refuses to run as root, and `code` refuses to run without saying so.
  if (process.getuid?.() === 0) common.push('--no-sandbox');
  const installs = options.extensions.flatMap((file) => ['--install-extension', file]);
  const installed = await runCommand(options.command, [...common, ...installs, '--force'], { env });
  if (!installed.ok) throw new Error(`\`code\` did not install the extension:\n${installed.output}`);
  const args = [...common, '--disable-workspace-trust', '--new-window', '--wait', options.folder];
  const waiting = spawnLeashed(options.command, args, { env });
  return {
    exited: waiting.exited,
    stop: async () => {
      closeWindow(profile);
      await waiting.stop();
    },
  };
}

/** `code` hands over to a main process outside its own group; that one writes its id into its profile. */
function closeWindow(profile: EditorProfile): void {
  try {
    const pid = Number(readFileSync(path.join(profile.data, 'code.lock'), 'utf8'));
    if (Number.isInteger(pid) && pid > 1) process.kill(pid, 'SIGTERM');
  } catch {
    // No lock or no such process: the window is already closed.
  }
}
