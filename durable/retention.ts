/** How long Temporal keeps a workflow that has ended. */
import { isGrpcServiceError, type Client } from '@temporalio/client';

/** How long the namespace keeps a workflow that has ended, seconds. */
export async function retentionSeconds({
  workflowService,
  options: { namespace },
}: Pick<Client, 'workflowService' | 'options'>): Promise<number> {
  const { config } = await workflowService.describeNamespace({ namespace });
  return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
}

/** The code of gRPC when the key may not ask this. */
const PERMISSION_DENIED = 7;

/** The same in milliseconds. Where Temporal may not be asked, it counts as keeping nothing. */
export async function keptForMs(client: Client): Promise<number> {
  try {
    return (await retentionSeconds(client)) * 1_000;
  } catch (error) {
    const code: number | null = isGrpcServiceError(error) ? error.code : null;
    if (code === PERMISSION_DENIED) return 0;
    throw error;
  }
}
