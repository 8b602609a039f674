extension Migration {
    /// The hashes that databases record for the first migrations, by the hash of their SQL without
    /// comments.
    ///
    /// They are hashes of the earlier files with their comments. Later migrations need no entry.
    static let recordedHashes: [String: String] = [
        "uV17IJ9CyBbpQ7+RHXQsBk6vrHYvvrWXWFtkqWiHMR4=": "syO2uhwm0MGCwzt+Kr6FvU0/DYVa4dGuMBJTrz7CKbE=",
        "v9ntAPjFj//JNzV/bCo/2cT7iqbVZQKnP9+2NCeM578=": "Xo3keKO2NmGDA1uh5XiJKH4FyxyD21exOvvoh38WSv8=",
        "gTCfK+oJkuanBrPcYAhd3l2ftnZziHdPMNf5iKEq4OM=": "JDLkmxVyI2LIFufatQcd8WWdVd8Bpd1oVFWKIveBh5M=",
        "kiEm7CJmu0S6tj/QMueFc7pj6yYCM252Jb6G1EiVlIk=": "42JJ+09ZjpHbWfXM1Xp1c0HJcYaTEzdejxGBN2KKdpM=",
        "iRiNoCtlvVzQJ9RJthKDxToLpelIhe9P58XTyVMSJBI=": "MP2juGJZSZ9qn3FpDNCJrE8H0U9WhgeAk8aJuYroo3c=",
        "OpM5ERiviXertoWYnnA/qgXZUU6kw27bauoPClUTWRA=": "yDL714rOdWHxgmNOUbys3K5nHDDOEU6Uxjskk3vuAXE=",
        "axrCsRz5IT/9CmGIvzwKpAJmr1eMXpsr5LEa+iX61BI=": "XYolCPWb8bYvp3gj4m4Ix9NbwNNaSgcZIqMfADaN3QI=",
        "Ei1yLjg0l2z0ApZhvz9YbILVHoenAB1IbZ2k2OfllF0=": "oGE+zqv9fL7QhjVdzvqX10Dn0kesZlp66DEt/taYml4=",
        "fsc/3EK5KkXCF54Ef//U8iW5APdu3O6ouaPDVjTNrEM=": "YpyyjjK75K3gAif48plHpoox8tJ0V+557797l/uV3rE=",
        "dvv7h88Ukr3Blapnq5JrL+MFknYkngYdDB6LLkS3u1I=": "dQmiRDCGQfjADFF/tOTB3g4ruWvP94pHmY5JC/BT4Oo=",
        "319aYzz6hcpbfD4PjuvZ7zIiMj8aOkHS4P/CeZc6qg8=": "O2RbRcRbAiKDgc85lHJr1C8CDUvxeU3BT8S7ntAcE2w=",
        "vTZaMkvFDJ2UqeKJs0MtDC0K8tkGK6nfICyl+B+DkbU=": "5Il39JUSm2k5HP1B1AXFZrQXIAQx8zLzsk7fQOFOkQo=",
        "c8JLKI/SskfMrd3CU5choUUNE2dpW/pwpyiPRWrOEE8=": "Z4yWLe4aQmBB39N++1BiNh89olnFZLsPEAAeNcCoot4=",
        "LdSWLSdEBWA5FpTzsIff9P3bmY9YfqjSJnk0k00eqVM=": "hbdhWgu8YOpttV/a8HL9ebA4mA44/baBwSxgxz0hKSw=",
        "AmaUy27OR2x4GKS3cHmEHjSRhTq7n6G3Q9XHqPII98g=": "jwLBfPVkcVguuLsmEde9WE3DbpV0J3apZv/CBRNph60=",
        "72X7GFNOudXweBYFhuik4ceLBT8MVJ+N8TW9nIY1mbg=": "7EI3GDJG0DzTJSLVwvIMLbkykyP31FsuTzaZaZ2ztjg=",
        "ZOcoxBGgDwFGD/xCL0oSzgzKEMcTDTBwYZZXIWivmvU=": "Zp/+3HhW7Phu2IwT7HbitBvShOeZM1r+wl5BI2LJFVw=",
        "Q8L+pcg/ibP5b+Wgn2mIwHCQeFy0e2OS8O2TGX52M2Y=": "vrtELKtdhGxMyFvTQA9NraClo9CP2TX5PkNYiTGgSY4=",
        "yTbopcSOqURuxzD1aeD4Em22Cl4vEBizvqdrOezUwmI=": "AOnnkV2Dyw6VhWMY1AZAUXLgyDllmNSsBoZ/nfLKRnI=",
        "5bWXjwH4BNH32X9XWx2mHdE59V07ZDwv+dfDg1e2N+I=": "X08bIRJmK6qMJDB8R3XeDwNTWhdtOgj7S9lfSZZrIxk=",
        "t538evRd8LC/EYzRfnOBdCfOK7RmVaz3QuQ2s5ZVkFc=": "p1QgCLmEqMGdtdLVaFrH9B6ECit2DG92WyCyDq6IHCA=",
        "3G6gi4b1fTLeUsu9GkTknzYo4fYMouPJhjPzJIrrCGw=": "YXbG3GXmxtR0hsL1Ixs4SB8DFvAG9E+sBcNFWVKDME0=",
        "8zxWRqWm6aW1RFt9sBPHKQk34FbwOAy6ie2rakQGK0Y=": "L7HyCI6uzDC8iOZagd0wmtiZVJXQ1HxaY7mlhFS88oc=",
        "4v/dTgzayqQt7m8l4xCJ14b/+rAD5A2TCs/OXyL0z6s=": "9/tT64tBooaCnHKrpHz38pRsGrtxz0ebTmAdK3g0sNc=",
        "d5oqR/XbAD6oz16NmsIwpxxCPpZ83xxjxJ2YDw3iGJ4=": "gAaLWpmXJeGrZsXXGwKRXubI+ILn9DgldUZs90iKiM8=",
        "KowGhhlu+kekM11sUpB7FzSYR7xeMUBiwnCmDgnbex8=": "TLRj6K8ISpNdim7G7D/VXAogYzDzzGrUI2ISsyV6ilg=",
        "Lsg98draqIYv70ArYkC1OzimF/6Nx7kjDMwwYPDApPw=": "vsHQ7I0lWBqjn8gGUTol3DApeXaXBYH88ZWCXjaDbBs=",
        "g39jhYIFZ9AI8/dVMMs/Jr4wVVr+jyRugVmOuepT18o=": "9v/J+z7/pMYfli2GCXTl8GJleA4Zl8f+awa8weiQM64=",
        "SPi6gK4s9/VkGOv5Jtq0hjZr/r5FFsiFiNGgVUX0i1c=": "AoIBvSOoL/Qe4g9pOi4VvgEar8GEsl6Bi5HNgB7UeYU=",
        "vjeH2QJdOmJfcrCvQm7hrhLHXrnCorpz/o100EQL1kY=": "/j4pq7vnfqvPXzx4+k5yqg4S+LkZ2z24fDuU5uSCd+E=",
    ]
}
