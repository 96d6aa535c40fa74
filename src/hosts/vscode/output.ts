/** The output channel `Banksman`: the trail as a person reads it. The record is the store. */
import { type LogOutputChannel, window } from 'vscode';
import type { Log } from '#kernel/ports/log';

export function createOutput(): LogOutputChannel {
  return window.createOutputChannel('Banksman', { log: true });
}

export function channelLog(channel: LogOutputChannel): Log {
  return {
    debug: (line) => channel.debug(line),
    info: (line) => channel.info(line),
    warn: (line) => channel.warn(line),
    error: (line) => channel.error(line),
  };
}
