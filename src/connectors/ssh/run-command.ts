/** One command over one channel. */
import type { ClientChannel } from 'ssh2';
import type { ShellResult } from '#kernel/ports/shell';
import { createCappedOutput } from '#kernel/text/capped-output';
import { type ChannelRoom, orAbort } from './channel-room.ts';
import type { NodeConnection } from './node-connection.ts';
import { exitCodeOfSignal } from './remote-command.ts';
import { ConnectionLost, channelFault, goneFault, type NodeAt } from './ssh-fault.ts';

/** Kept of each of the two streams. */
const maxStreamBytes = 256 * 1024;

/** A connection, and how channels are got on it. */
export interface CommandPlace {
  readonly connection: NodeConnection;
  readonly room: ChannelRoom;
}

/** A command that has a connection. */
export interface Run {
  readonly place: CommandPlace;
  readonly at: NodeAt;
  /** The node's own limit for the command. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Whether the server has been asked to run it and has not refused: from then on it may have started. */
  asked: boolean;
  /** What it has printed so far; set once its channel is open. */
  output?: () => CommandOutput;
}

type CommandOutput = Pick<ShellResult, 'stdout' | 'stderr' | 'truncated'>;

/**
 * Runs `text` as it is: no terminal, no agent or X11 forwarding, no environment of ours.
 * @throws {Fault} `ssh_channel_failed`, `ssh_unreachable` (nothing was run); {ConnectionLost} when the connection dies in the middle;
 * the signal's reason when it aborts: the command is then told to stop, which may not help
 */
export async function runCommand(run: Run, text: string): Promise<ShellResult> {
  const { connection, room } = run.place;
  const stop = AbortSignal.any([run.signal, connection.lost]);
  const { channel, closed, output } = await room.open(stop, () => openChannel(run, text, stop));
  run.output = output;
  try {
    return await orAbort(closed, stop);
  } finally {
    if (stop.aborted) stopChannel(channel);
  }
}

interface OpenChannel {
  readonly channel: ClientChannel;
  /** When the channel is closed: whatever came over it. */
  readonly closed: Promise<ShellResult>;
  /** What has come over it so far. */
  output(): CommandOutput;
}

async function openChannel(run: Run, text: string, stop: AbortSignal): Promise<OpenChannel> {
  const { connection } = run.place;
  stop.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<OpenChannel>();
  const onOpen = (error: Error | undefined, channel: ClientChannel) => {
    if (error) {
      run.asked = false;
      return reject(channelFault(connection.at, error));
    }
    // Nobody waits any more.
    if (stop.aborted) stopChannel(channel);
    // In this very turn: the command's whole output and end may be in the packets that are parsed next.
    resolve({ channel, ...collect(channel, connection.lost) });
  };
  try {
    run.asked = true;
    connection.client.exec(text, onOpen);
  } catch {
    run.asked = false;
    // ssh2 throws where the socket has just ended and its `close` is still to come.
    throw goneFault(connection.at);
  }
  return orAbort(promise, stop);
}

/** Best effort: sshd drops signals of root logins without privilege separation, and closing a channel kills nothing. */
function stopChannel(channel: ClientChannel): void {
  channel.signal('TERM');
  channel.close();
}

/** @param lost tells a channel that ended with its connection from one that was closed without a word */
function collect(channel: ClientChannel, lost: AbortSignal): Pick<OpenChannel, 'closed' | 'output'> {
  const { promise, resolve, reject } = Promise.withResolvers<ShellResult>();
  const stdout = createCappedOutput(maxStreamBytes);
  const stderr = createCappedOutput(maxStreamBytes);
  const output = () => ({ stdout: stdout.text(), stderr: stderr.text(), truncated: stdout.truncated || stderr.truncated });
  const end: { exitCode?: number; signal?: string } = {};
  channel.on('data', (chunk: Buffer) => stdout.push(chunk));
  channel.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A channel that was reset reports it here; what matters is that it closes.
  channel.on('error', () => undefined);
  channel.on('exit', (code: number | null, name?: string) => {
    if (code !== null) end.exitCode = code;
    if (name === undefined) return;
    end.signal = name;
    const asCode = exitCodeOfSignal(name);
    if (asCode !== undefined) end.exitCode = asCode;
  });
  channel.on('close', () => {
    if (lost.aborted && end.exitCode === undefined && end.signal === undefined) return reject(new ConnectionLost());
    resolve({ ...output(), ...end });
  });
  // INVARIANT: nobody may be left to hear of it, when the caller went away while the channel was being opened. Unheard it would be fatal.
  promise.catch(() => undefined);
  return { closed: promise, output };
}
