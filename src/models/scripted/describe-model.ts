import type { Script } from './script-schema.ts'

/** Name of the model where the script gives none. */
const defaultModelName = 'scripted:latest'

/** Body of `/api/show`. */
export function showModel({ model }: Script): object {
  return {
    license: '',
    modelfile: '',
    parameters: '',
    template: '',
    details: details(model),
    model_info: {
      'general.architecture': 'scripted',
      ...(model.parameters && { 'general.parameter_count': Math.round(model.parameters * 1e9) }),
      'scripted.context_length': model.context,
    },
    capabilities: ['completion', ...(model.tools ? ['tools'] : []), ...(model.vision ? ['vision'] : []), 'thinking'],
    modified_at: '2026-01-01T00:00:00Z',
  }
}

/** Body of `/api/tags`. */
export function listModels({ model }: Script): object {
  const name = model.name ?? defaultModelName
  const entry = { name, model: name, modified_at: '2026-01-01T00:00:00Z', size: 0, digest: '0'.repeat(64) }
  return { models: [{ ...entry, details: details(model) }] }
}

/** Body of `/api/ps`. */
export function listLoaded({ model }: Script, numCtx: number | undefined): object {
  if (numCtx === undefined) return { models: [] }
  const name = model.name ?? defaultModelName
  const expires_at = new Date(Date.now() + 30 * 60_000).toISOString()
  const entry = { name, model: name, size: 0, size_vram: 0, digest: '0'.repeat(64), expires_at, context_length: numCtx }
  return { models: [{ ...entry, details: details(model) }] }
}

/** Body of `/v1/models`. */
export function listOpenAiModels({ model }: Script): object {
  const id = model.name ?? defaultModelName
  return { object: 'list', data: [{ id, object: 'model', created: 0, owned_by: 'troupe' }] }
}

function details({ parameters }: Script['model']): object {
  return {
    parent_model: '',
    format: 'script',
    family: 'scripted',
    families: ['scripted'],
    parameter_size: parameters === undefined ? '' : `${parameters}B`,
    quantization_level: '',
  }
}
