/** The worker's connection to Temporal, by the native part of the SDK and the same profile as the client. */
import { NativeConnection } from '@temporalio/worker';
import { unreachable, type Profile } from '../config/temporal.ts';

/** @throws InfrastructureError when Temporal does not answer */
export async function connectWorker({ options, address }: Profile): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    throw unreachable(address, error);
  }
}
