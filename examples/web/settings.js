// The settings of your app.
export default {
  title: 'Clinic',
  // In production, pin the public keys that `sealpost signing-keys list` shows, the last value of
  // each line: {keys: ['the key in use', 'the next key']}. Any proxy that terminates TLS can forge
  // unsigned answers.
  signatures: 'unsigned',
};
