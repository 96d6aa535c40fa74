import type { ToolRule } from '../tool-rule.ts';
import { builderRules } from './builders.ts';
import { builtinRules } from './builtins.ts';
import { checkerRules } from './checkers.ts';
import { frameworkRules } from './frameworks.ts';
import { gitRules } from './git.ts';
import { infrastructureRules } from './infrastructure.ts';
import { javaBuilderRules } from './java-builders.ts';
import { lookRules } from './looks.ts';
import { machineRules } from './machine.ts';
import { packageRules } from './packages.ts';
import { readerRules } from './readers.ts';
import { searchRules } from './searchers.ts';
import { taskRunnerRules } from './task-runners.ts';
import { toolchainRules } from './toolchains.ts';
import { writerRules } from './writers.ts';

/** Every rule of developers' programs; a program is named by one of them only. */
export const toolRules: readonly ToolRule[] = [
  ...builtinRules,
  ...readerRules,
  ...searchRules,
  ...writerRules,
  ...machineRules,
  ...lookRules,
  ...builderRules,
  ...javaBuilderRules,
  ...checkerRules,
  ...taskRunnerRules,
  ...frameworkRules,
  ...toolchainRules,
  ...infrastructureRules,
  ...packageRules,
  ...gitRules,
];
