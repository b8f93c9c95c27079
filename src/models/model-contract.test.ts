import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { chooseModel } from './choose-model.ts'
import { createModel } from './create-model.ts'
import { modelContract } from './model-contract.ts'
import { startScriptedServer } from './scripted/scripted-server.ts'

const path = fileURLToPath(new URL('./fixtures/contract.yaml', import.meta.url))
const nothing = { servers: {}, env: {}, rehearsalPath: path }

modelContract(
  'a script in process',
  async () => {
    const { spec } = await chooseModel({ ...nothing, ref: `scripted:${path}` })
    return { model: createModel(spec), close: async () => {} }
  },
  true,
)

modelContract(
  'a scripted server, through the ollama client',
  async () => {
    const server = await startScriptedServer({ path })
    const { spec } = await chooseModel({ ...nothing, ref: 'ollama/any', env: { OLLAMA_HOST: server.url } })
    return { model: createModel(spec), close: server.close }
  },
  true,
)

const real = process.env.TROUPE_TEST_REAL === '1' ? await chooseModel({ ...nothing, env: process.env }) : undefined

if (real?.spec.provider === 'ollama') {
  const model = createModel(real.spec)
  modelContract(`a real server, ${real.spec.profile.ref}`, async () => ({ model, close: async () => {} }), false)
} else {
  describe('model contract: a real server', () => {
    test.skip(`skipped: ${real?.note ?? 'only npm run test:real asks one'}`, () => {})
  })
}
