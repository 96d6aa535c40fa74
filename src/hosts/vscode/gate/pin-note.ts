/** What a dialog says when going on also makes this window's key count. */
import type { Signer } from '#app/app';
import { showPlainly } from '#kernel/text';

/** @param goingOn what pins it, as the start of a sentence: `Approving` */
export function pinNote(goingOn: string, signer: Signer, configFile: string): string {
  return (
    `This window's approval key is new on this machine. ${goingOn} also pins it for ${showPlainly(signer.approver)} ` +
    `in ${showPlainly(configFile)}:\n${showPlainly(signer.publicKey)}`
  );
}
