#!/usr/bin/env node
/** The command line's entry. */
import { standsIn } from './newer-node.ts';

const [command, verb = ''] = process.argv.slice(2);
// SECURITY: an agent's hook that ends in any other way than it should lets the call run, so nothing stands before it.
const isHook = command === 'hook' && !/^(?:install|uninstall|serve|--help|-h)$/.test(verb);

// What needs the newer Node is loaded only where it is there.
if (!standsIn()) {
  if (isHook) void import('#hosts/hook/ask-hook').then(({ askHook }) => askHook(process.argv.slice(3)));
  else void import('./run.ts').then(({ run }) => run(process.argv.slice(2)));
}
