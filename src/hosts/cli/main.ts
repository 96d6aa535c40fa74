#!/usr/bin/env node
/** The command line's entry. */
import { standsIn } from './newer-node.ts';

// What needs the newer Node is loaded only where it is there.
if (!standsIn()) void import('./run.ts').then(({ run }) => run(process.argv.slice(2)));
