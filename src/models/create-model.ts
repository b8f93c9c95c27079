import type { Model, ModelSpec } from '../core/model.ts'

/** Makes the client of a model, in any thread: cheap. Its provider's code is loaded at the first request of the thread. */
export function createModel(spec: ModelSpec): Model {
  return {
    profile: spec.profile,
    async stream(request, onDelta, signal) {
      const model = await load(spec)
      return model.stream(request, onDelta, signal)
    },
  }
}

let scripted: Promise<typeof import('./scripted/scripted-model.ts')> | undefined
let ollama: Promise<typeof import('./ollama/ollama-model.ts')> | undefined

async function load(spec: ModelSpec): Promise<Model> {
  if (spec.provider === 'scripted') {
    scripted ??= import('./scripted/scripted-model.ts')
    return (await scripted).createScriptedModel(spec)
  }
  ollama ??= import('./ollama/ollama-model.ts')
  return (await ollama).createOllamaModel(spec)
}
