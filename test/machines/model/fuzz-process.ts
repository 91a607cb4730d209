/** One process of the fuzzer: runs the share that it is sent and answers what came of it. */
import { runShare, type Share } from './fuzz.ts';

// Whoever asked is gone: nobody wants the answer any more.
process.once('disconnect', () => process.exit());
process.once('message', (share: Share) => {
  void runShare(share).then((outcome) => process.send?.(outcome, () => process.disconnect()));
});
