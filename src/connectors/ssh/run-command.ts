/** One command over one channel. */
import type { ClientChannel } from 'ssh2';
import type { ShellResult } from '#kernel/ports/shell';
import { createCappedOutput } from './capped-output.ts';
import type { NodeConnection } from './node-connection.ts';
import { channelFault } from './ssh-fault.ts';

/** Kept of each of the two streams. */
const maxStreamBytes = 256 * 1024;

/** The channel is gone without the command's end being known: the connection died. */
export class ChannelLost extends Error {
  constructor() {
    super('the connection ended before the command did');
    this.name = 'ChannelLost';
  }
}

/**
 * Runs `text` as it is: no terminal, no agent or X11 forwarding, no environment of ours.
 * @throws {Fault} `ssh_channel_failed`; {ChannelLost}; the signal's reason when it aborts (the command is then told to stop, which may not help)
 */
export async function runCommand(connection: NodeConnection, text: string, signal: AbortSignal): Promise<ShellResult> {
  signal.throwIfAborted();
  const stop = AbortSignal.any([signal, connection.lost]);
  const { promise, resolve, reject } = Promise.withResolvers<ShellResult>();
  let channel: ClientChannel | undefined;
  const onStop = () => {
    reject(signal.aborted ? signal.reason : new ChannelLost());
    if (channel) stopChannel(channel);
  };
  stop.addEventListener('abort', onStop, { once: true });
  connection.client.exec(text, (error, opened) => {
    if (error) return reject(connection.lost.aborted ? new ChannelLost() : channelFault(connection.at, error));
    channel = opened;
    collect(opened, (result) => {
      if (result.exitCode === undefined && result.signal === undefined && connection.lost.aborted) return reject(new ChannelLost());
      resolve(result);
    });
    if (stop.aborted) stopChannel(opened);
  });
  return promise.finally(() => stop.removeEventListener('abort', onStop));
}

/** Best effort: sshd drops signals of root logins without privilege separation, and closing a channel kills nothing. */
function stopChannel(channel: ClientChannel): void {
  channel.signal('TERM');
  channel.close();
}

function collect(channel: ClientChannel, done: (result: ShellResult) => void): void {
  const stdout = createCappedOutput(maxStreamBytes);
  const stderr = createCappedOutput(maxStreamBytes);
  let exitCode: number | undefined;
  let exitSignal: string | undefined;
  channel.on('data', (chunk: Buffer) => stdout.push(chunk));
  channel.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A channel that was reset reports it here; what matters is that it closes.
  channel.on('error', () => undefined);
  channel.on('exit', (code: number | null, name?: string) => {
    if (code !== null) exitCode = code;
    if (name !== undefined) exitSignal = name;
  });
  channel.on('close', () =>
    done({
      stdout: stdout.text(),
      stderr: stderr.text(),
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(exitSignal === undefined ? {} : { signal: exitSignal }),
      truncated: stdout.truncated || stderr.truncated,
    }),
  );
}
