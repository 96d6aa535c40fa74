/** Which way directories are pinned here. */
import { pinByDescriptor } from './descriptor-pin.ts';
import type { DirectoryPin } from './directory-pin.ts';
import { pinByIdentity } from './identity-pin.ts';

/** `descriptors` cannot be raced (Linux); `identity` checks before and after, and can be raced by whoever swaps twice in between. */
export type Pinning = 'descriptors' | 'identity';

export const usualPinning: Pinning = process.platform === 'linux' ? 'descriptors' : 'identity';

/** Pins `root`, an absolute path whose links are resolved. @throws the file system's error */
export function pinRoot(root: string, pinning: Pinning): DirectoryPin {
  return pinning === 'descriptors' ? pinByDescriptor(root) : pinByIdentity(root);
}
