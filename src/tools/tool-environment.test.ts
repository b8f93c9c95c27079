import { describe, expect, test } from 'vitest'
import { toolEnvironment } from './tool-environment.ts'

describe('the environment of a command', () => {
  test('has no keys, tokens and passwords', () => {
    const secrets = [
      'OPENAI_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'GITHUB_TOKEN',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_ACCESS_KEY_ID',
      'DB_PASSWORD',
      'PGPASSWORD',
      'npm_config_token',
      'GITHUB_PAT',
      'GOOGLE_APPLICATION_CREDENTIALS',
      'API_KEY',
      'SECRET_SAUCE',
    ]
    const env = toolEnvironment(Object.fromEntries(secrets.map((name) => [name, 'x'])))
    expect(Object.keys(env).filter((name) => secrets.includes(name))).toEqual([])
  })

  test('keeps what programs need', () => {
    const needed = {
      PATH: '/bin',
      HOME: '/home/me',
      LANG: 'C.UTF-8',
      SSH_AUTH_SOCK: '/run/agent',
      KEYBOARD: 'de',
      JAVA_HOME: '/opt/java',
      http_proxy: 'http://proxy',
    }
    expect(toolEnvironment(needed)).toMatchObject(needed)
  })

  test('lets no program wait for a person', () => {
    expect(toolEnvironment({ EDITOR: 'vim', PAGER: 'less', TERM: 'xterm' })).toMatchObject({
      GIT_TERMINAL_PROMPT: '0',
      GIT_EDITOR: 'true',
      EDITOR: 'true',
      PAGER: 'cat',
      GIT_PAGER: 'cat',
      TERM: 'dumb',
    })
  })

  test('has nothing that changes how a program starts, nor the folder we were started in', () => {
    const env = toolEnvironment({
      NODE_OPTIONS: '--inspect',
      LD_PRELOAD: 'x.so',
      BASH_ENV: 'rc',
      ENV: 'rc',
      'BASH_FUNC_ls%%': '() { :; }',
      PWD: '/elsewhere',
      OLDPWD: '/before',
    })
    expect(Object.values(env).filter((value) => /inspect|x\.so|rc|\(\)|\//.test(value))).toEqual([])
  })
})
