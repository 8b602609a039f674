// The settings of your app.
export default {
  title: 'Clinic',
  // Better: {keys: ['the key in use', 'the next one']}, with the keys that `sealpost signing-keys list`
  // shows. Any proxy that terminates TLS can forge unsigned answers.
  signatures: 'unsigned',
};
